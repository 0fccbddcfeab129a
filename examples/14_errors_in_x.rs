//! Lesson 14: a straight line through points with errors in x and in y.
//!
//! Pearson's ten points of 1901 with the weights of York (1966) are the standard test of programs for errors in x: x is
//! precise at one end, y at the other. The published line is y = 5.47991 − 0.480533 x (York, Can. J. Phys. 44 (1966)
//! 1079).

use dualfit::{CurveFit, Data, Sigma};

fn main() -> dualfit::Result<()> {
    let x = [0.0, 0.9, 1.8, 2.6, 3.3, 4.4, 5.2, 6.1, 6.5, 7.4];
    let y = [5.9, 5.4, 4.4, 4.6, 3.5, 3.7, 2.8, 2.8, 2.4, 1.5];
    // York's weights are 1/σ².
    let of_x = [1e3, 1e3, 500.0, 800.0, 200.0, 80.0, 60.0, 20.0, 1.8, 1.0];
    let of_y = [1.0, 1.8, 4.0, 8.0, 20.0, 20.0, 70.0, 70.0, 100.0, 500.0];
    let (x_sigma, y_sigma) = (of_x.map(|w: f64| w.powf(-0.5)), of_y.map(|w: f64| w.powf(-0.5)));

    let line = CurveFit::new(|x, [intercept, slope]| intercept + slope * x);
    let line = line.names(["intercept", "slope"]);
    let y_alone = Data::new(&x, &y)?.sigma(Sigma::Relative(&y_sigma))?;
    let both = y_alone.clone().x_sigma(&x_sigma)?;
    let fit = line.fit(both.clone(), [1.0, -1.0])?;
    println!("{fit}\n");

    // The estimated true positions of the points on the line.
    let closest = fit.closest(&both)?;
    println!("    x    moved to      y      line");
    for ((x, at), (y, on)) in x.iter().zip(&closest[0]).zip(y.iter().zip(fit.predict(&closest[0])?))
    {
        println!("{x:>5.2}  {at:>8.4}   {y:>6.2}  {on:>8.4}");
    }

    let ignored = line.fit(y_alone, [1.0, -1.0])?;
    println!("\nslope if x were exact {:.4} ± {:.4}", ignored.params()[1], ignored.std_errors()[1]);
    println!("\n              found      published");
    for (name, found, published) in
        [("intercept", fit.params()[0], 5.47991022), ("slope", fit.params()[1], -0.48053341)]
    {
        println!("{name:<10}{found:>12.8}{published:>13.8}");
    }
    Ok(())
}

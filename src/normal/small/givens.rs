//! One row more in a triangular factor, by rotations: rows of very different size keep what each says, if
//! the large ones come first.

/// `r`: k × k upper triangular, column-major. Replaces R by the triangular factor of `[R; row]`; `row` has k
/// numbers and is scratch afterwards. A row of R that is zero takes the rest of `row` as it is.
///
/// Each rotation mixes the row with one row of R. Where that is much larger, what it takes from the row is
/// small beside the row itself, so that its rounding is; a reflection of several rows at once would leave the
/// rounding of the largest in all (Powell and Reid 1969; Golub and Van Loan, section 5.1.8).
pub(crate) fn rotate_in(r: &mut [f64], k: usize, row: &mut [f64]) {
    for j in 0..k {
        if row[j] == 0.0 {
            continue;
        }
        if (j..k).all(|l| r[l * k + j] == 0.0) {
            (j..k).for_each(|l| r[l * k + j] = row[l]);
            return;
        }
        let diagonal = r[j * k + j];
        let length = diagonal.hypot(row[j]);
        let (c, s) = (diagonal / length, row[j] / length);
        for l in j..k {
            let (above, below) = (r[l * k + j], row[l]);
            r[l * k + j] = c * above + s * below;
            row[l] = c * below - s * above;
        }
        r[j * k + j] = length;
        row[j] = 0.0;
    }
}

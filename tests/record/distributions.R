# Quantiles and tails that the distributions are held to.
# Usage: Rscript distributions.R > ../data/uncertainty/distributions.csv
cat(sprintf("# %s\n", R.version.string))
cat("kind,level,d1,d2,value\n")
levels <- c(0.5, 0.6826894921370859, 0.9, 0.95, 0.99, 0.9973002039367398, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12)
small <- c(1e-6, 0.01, 0.1)
dofs <- c(1, 2, 3, 5, 10, 30, 100, 1000, 12345, 1e5, 1e6, 1e7, 1e9)
# Quantiles of F end at about 1e-9 in R; its tails do not, and two steps of Newton's method take the rest.
polished <- function(f, l, d1, d2) {
  lower <- l < 0.5
  target <- if (lower) log(l) else log(1 - l)
  for (i in 1:3) {
    tail <- pf(f, d1, d2, lower.tail = lower, log.p = TRUE)
    step <- (tail - target) / exp(df(f, d1, d2, log = TRUE) - tail) / f
    f <- if (lower) f * exp(-step) else f * exp(step)
  }
  f
}
row <- function(kind, level, d1, d2, value) cat(sprintf("%s,%.17g,%.17g,%.17g,%.17g\n", kind, level, d1, d2, value))
for (l in c(small, levels)) {
  q <- (1 - l) / 2
  row("normal", l, 1, Inf, if (l < 0.5) qnorm(0.5 + l / 2) else qnorm(q, lower.tail = FALSE))
  for (d in dofs) {
    if (l >= 0.5) row("t", l, 1, d, qt(q, d, lower.tail = FALSE))
    row("chi_square", l, d, Inf, if (l < 0.5) qchisq(l, d) else qchisq(1 - l, d, lower.tail = FALSE))
    for (d1 in c(1, 2, 3, 7, 25, 1000)) if (l >= 0.01)
      row("f", l, d1, d, polished(if (l < 0.5) qf(l, d1, d) else qf(1 - l, d1, d, lower.tail = FALSE), l, d1, d))
  }
}
for (f in c(0.01, 0.5, 1, 1.2, 2, 5, 20, 100)) for (d1 in c(1, 2, 5, 40)) for (d2 in dofs)
  row("f_upper", f, d1, d2, pf(f, d1, d2, lower.tail = FALSE))
for (x in c(0.01, 0.5, 1, 4, 10, 50, 200)) for (d in c(1, 2, 5, 40, 150))
  row("chi_square_upper", x, d, Inf, pchisq(x, d, lower.tail = FALSE))

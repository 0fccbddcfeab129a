# Bands, intervals, profiles, leverages and tests that the crate's are held to.
# Usage, in this folder: Rscript uncertainty.R > ../data/uncertainty/r.csv
# Profiles are root finding over refits by nls with one parameter held, not MASS's splines (rows `confint`),
# whose ends are off by up to about 1e-3 of the width.
options(digits = 17)
library(MASS)
cat(sprintf("# %s, MASS %s, nls with analytic partials\n", R.version.string, packageVersion("MASS")))
cat("case,quantity,at,level,a,b,c,d\n")
row <- function(case, quantity, at, level, a, b = NA, c = NA, d = NA)
  cat(sprintf("%s,%s,%s,%.17g,%.17g,%.17g,%.17g,%.17g\n", case, quantity, at, level, a, b, c, d))

nist <- function(name) {
  lines <- readLines(sprintf("../data/nist/%s.txt", name))
  table <- read.table(text = lines[(which(lines == "data") + 1):length(lines)])
  list(x = table[[1]], y = table[[2]])
}
control <- nls.control(maxiter = 200, tol = 1e-8, minFactor = 1e-10, warnOnly = TRUE)

fit_with <- function(expr, names, data, w, start, held = list()) {
  free <- setdiff(names, names(held))
  f <- deriv(expr, free, function.arg = c("x", names))
  call <- as.formula(sprintf("y ~ f(x, %s)", paste(names, collapse = ", ")))
  environment(call) <- environment()
  # The last digit of the criterion is sometimes out of reach; 1e-6 of it is 1e-12 in the deviance.
  fit <- suppressWarnings(nls(call, data = c(data, held), start = start[free], weights = w, control = control))
  stopifnot(fit$convInfo$finTol < 1e-6)
  fit
}

record <- function(case, expr, names, data, w, start, at, absolute) {
  n <- length(data$y); p <- length(names)
  fit <- fit_with(expr, names, data, w, start)
  est <- coef(fit)
  s2 <- if (absolute) 1 else deviance(fit) / (n - p)
  dof <- if (absolute) Inf else n - p
  f <- deriv(expr, names, function.arg = c("x", names))
  value <- function(x, theta) do.call(f, c(list(x), as.list(theta)))
  g <- attr(value(data$x, est), "gradient") * sqrt(w)
  qrg <- qr(g)
  cov <- s2 * chol2inv(qr.R(qrg))[order(qrg$pivot), order(qrg$pivot)]
  se <- sqrt(diag(cov)); names(se) <- names
  for (name in names) row(case, "param", name, 0, est[[name]], se[[name]])
  here <- value(at, est); gx <- attr(here, "gradient")
  err <- sqrt(colSums((backsolve(qr.R(qrg), t(gx[, qrg$pivot, drop = FALSE]), transpose = TRUE))^2) * s2)
  for (l in c(0.6827, 0.95, 0.99)) {
    q <- qt((1 + l) / 2, dof)
    for (i in seq_along(at)) {
      row(case, "band", sprintf("%.17g", at[i]), l, here[i], err[i], here[i] - q * err[i], here[i] + q * err[i])
      wide <- sqrt(p * (if (absolute) qchisq(l, p) / p else qf(l, p, dof)))
      row(case, "scheffe", sprintf("%.17g", at[i]), l, here[i], err[i], here[i] - wide * err[i], here[i] + wide * err[i])
      if (all(w == 1)) {
        dev <- sqrt(err[i]^2 + s2)
        row(case, "prediction", sprintf("%.17g", at[i]), l, here[i], dev, here[i] - q * dev, here[i] + q * dev)
      }
    }
    for (name in names) {
      row(case, "interval", name, l, est[[name]] - q * se[[name]], est[[name]] + q * se[[name]])
      excess <- function(v) {
        held <- setNames(list(v), name)
        s <- NA
        # Along the line that the linear model gives.
        move <- est + cov[, which(names == name)] / cov[which(names == name), which(names == name)] * (v - est[[name]])
        names(move) <- names
        for (start in list(move, est)) {
          s <- tryCatch(deviance(fit_with(expr, names, data, w, as.list(start), held)), error = function(e) NA)
          if (!is.na(s)) break
        }
        (s - deviance(fit)) / s2 - q^2
      }
      end <- function(sign) {
        width <- q * se[[name]]
        # The bracket grows until it holds the end.
        outer <- 1; while (excess(est[[name]] + sign * outer * width) < 0) outer <- outer * 1.25
        ends <- sort(est[[name]] + sign * width * c(0.2, outer))
        uniroot(excess, ends, tol = 1e-11 * width, maxiter = 200)$root
      }
      row(case, "profile", name, l, end(-1), end(1))
    }
  }
  ci <- tryCatch(suppressMessages(if (absolute) NULL else confint(fit, level = 0.95)), error = function(e) NULL)
  if (!is.null(ci)) for (name in names) row(case, "confint", name, 0.95, ci[name, 1], ci[name, 2])
  # Two parameters held: half a standard error up and one down.
  two <- names[1:2]
  held <- setNames(list(est[[1]] + 0.5 * se[[1]], est[[2]] - se[[2]]), two)
  row(case, "held", paste(two, collapse = " "), 0, held[[1]], held[[2]],
      (if (p == 2) sum(w * (data$y - as.vector(value(data$x, unlist(held))))^2)
       else deviance(fit_with(expr, names, data, w, as.list(est), held))) / s2 - deviance(fit) / s2)
  h <- rowSums(qr.Q(qrg)^2)
  r <- sqrt(w) * (data$y - as.vector(value(data$x, est)))
  s <- sqrt(deviance(fit) / (n - p))
  scale <- if (absolute) 1 else s
  for (i in c(1, 2, 5, n %/% 2, n)) {
    std <- r[i] / (scale * sqrt(1 - h[i]))
    without <- sqrt((deviance(fit) - r[i]^2 / (1 - h[i])) / (n - p - 1))
    ext <- if (absolute) std else r[i] / (without * sqrt(1 - h[i]))
    row(case, "leverage", i - 1, 0, h[i], std, ext, std^2 * h[i] / (1 - h[i]) / p)
  }
  row(case, "durbin_watson", "", 0, sum(diff(r[order(data$x)])^2) / sum(r^2))
  ratio <- deriv(as.formula(sprintf("~ %s / %s", names[1], names[2])), names, function.arg = names)
  v <- do.call(ratio, as.list(est)); gr <- as.vector(attr(v, "gradient"))
  row(case, "propagate", sprintf("%s/%s", names[1], names[2]), 0, as.numeric(v), sqrt(gr %*% cov %*% gr))
  fit
}

misra <- nist("Misra1a"); ones <- function(d) rep(1, length(d$y))
misra_model <- quote(b1 * (1 - exp(-b2 * x)))
found <- record("Misra1a", misra_model, c("b1", "b2"), misra, ones(misra), list(b1 = 250, b2 = 5e-4), c(50, 100, 400, 900), FALSE)
sigma <- 0.05 + 0.004 * misra$y
found <- record("weighted", misra_model, c("b1", "b2"), misra, 1 / sigma^2, list(b1 = 250, b2 = 5e-4), c(50, 100, 400, 900), FALSE)
found <- record("absolute", misra_model, c("b1", "b2"), misra, 1 / sigma^2, list(b1 = 250, b2 = 5e-4), c(50, 100, 400, 900), TRUE)
chwirut <- nist("Chwirut2")
large <- record("Chwirut2", quote(exp(-b1 * x) / (b2 + b3 * x)), c("b1", "b2", "b3"), chwirut, ones(chwirut),
                list(b1 = 0.15, b2 = 0.008, b3 = 0.01), c(0.3, 0.5, 2, 5, 8), FALSE)
small <- fit_with(quote(1 / (b2 + b3 * x)), c("b2", "b3"), chwirut, ones(chwirut), list(b2 = 0.005, b3 = 0.015))
test <- anova(small, large)
row("Chwirut2", "anova", "", 0, test[2, "F value"], test[2, "Pr(>F)"], deviance(small), deviance(large))
row("Chwirut2", "aic", "", 0, AIC(small) - AIC(large), logLik(small), logLik(large))
thurber <- nist("Thurber")
found <- record("Thurber", quote((b1 + b2 * x + b3 * x^2 + b4 * x^3) / (1 + b5 * x + b6 * x^2 + b7 * x^3)), paste0("b", 1:7), thurber,
       ones(thurber), list(b1 = 1300, b2 = 1500, b3 = 500, b4 = 75, b5 = 1, b6 = 0.4, b7 = 0.05), c(-3, -2, 0, 1, 2.2), FALSE)

# Fits of gslnls without starting values, for starts.py.
# Usage: Rscript starts.R FOLDER SECONDS
#
# FOLDER has problems.csv (one row per problem: formula, names of the parameters, their true values) and a table per
# problem, 0.csv, 1.csv, ...: independent variables, `exact` (the formula at the true values), `response`.
# The result is FOLDER/fits.csv, one row per problem: state, time in ms, parameters, functions that R lacks.
# Each fit runs in a forked process, which is killed after SECONDS: not on Windows.
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
seconds <- as.numeric(arguments[2])
if (!suppressWarnings(requireNamespace("gslnls", quietly = TRUE))) {
  cat("the R package gslnls is not installed\n", file = stderr())
  quit(status = 1)
}
cat(sprintf("gslnls %s, %s\n", packageVersion("gslnls"), R.version.string))

# Functions of formulas that base R has under other names. gsl_nls looks functions up in base R first, then here.
renamed <- list(where = quote(ifelse), min = quote(pmin), max = quote(pmax))
hypot <- function(x, y) sqrt(x^2 + y^2)
erf <- function(x) 2 * pnorm(x * sqrt(2)) - 1
erfc <- function(x) 2 * pnorm(-x * sqrt(2))
j1 <- function(x) sign(x) * besselJ(abs(x), 1)
k0 <- function(x) besselK(x, 0)

fit_once <- function(formula, data, parameters) {
  start <- setNames(rep(NA_real_, length(parameters)), parameters)
  begun <- proc.time()[["elapsed"]]
  params <- tryCatch(
    coef(gslnls::gsl_nls(formula, data = data, start = start))[parameters],
    error = function(e) numeric(0)
  )
  list(params = params, milliseconds = 1e3 * (proc.time()[["elapsed"]] - begun))
}

# The result of `fit_once`, or NULL after the time limit.
fit_in_time <- function(...) {
  job <- parallel::mcparallel(suppressWarnings(fit_once(...)), silent = TRUE)
  result <- parallel::mccollect(job, wait = FALSE, timeout = seconds)
  tools::pskill(job$pid, tools::SIGKILL)
  suppressWarnings(parallel::mccollect(job))
  result[[1]]
}

problems <- read.csv(file.path(folder, "problems.csv"), colClasses = "character")
output <- file.path(folder, "fits.csv")
cat("state,milliseconds,params,lacking\n", file = output)
for (k in seq_len(nrow(problems))) {
  data <- read.csv(file.path(folder, sprintf("%d.csv", k - 1)))
  formula <- as.formula(paste("response ~", problems$formula[k]))
  formula[[3]] <- do.call(substitute, list(formula[[3]], renamed))
  parameters <- strsplit(problems$parameters[k], " ")[[1]]
  functions <- setdiff(all.names(formula), c(all.vars(formula), "~"))
  lacking <- Filter(function(name) !exists(name, mode = "function"), functions)
  if (length(lacking) > 0) {
    cat(sprintf("not expressible,,,%s\n", paste(lacking, collapse = " ")), file = output, append = TRUE)
    next
  }
  # R and NumPy must agree on the formula.
  truth <- setNames(as.list(as.numeric(strsplit(problems$truth[k], " ")[[1]])), parameters)
  stopifnot(all.equal(eval(formula[[3]], c(data, truth)), data$exact, tolerance = 1e-7))
  fit <- fit_in_time(formula, data, parameters)
  state <- if (is.null(fit)) "out of time" else if (length(fit$params) == 0) "failed" else "fitted"
  milliseconds <- if (is.null(fit)) 1e3 * seconds else fit$milliseconds
  params <- paste(sprintf("%.17g", fit$params), collapse = " ")
  cat(sprintf("%s,%.17g,%s,\n", state, milliseconds, params), file = output, append = TRUE)
}

//! Peaks over a plane: the columns are x and y.

use crate::models::estimate::surface::Spot;
use crate::models::model::define;
use std::f64::consts::PI;

define! {
    /// Round Gaussian of x and y.
    gaussian2d GAUSSIAN2D ["x", "y"] Peak
    formula "amplitude/(2*pi*sigma^2)*exp(-(((x - centerx)/sigma)^2 + ((y - centery)/sigma)^2)/2)"
    parameters {
        amplitude: any "the volume, in units of the response times x times y",
        centerx: any "x of the maximum",
        centery: any "y of the maximum",
        sigma: width "the standard deviation in every direction",
    }
    derived {
        fwhm = "2*sqrt(2*ln(2))*sigma" "full width at half maximum",
        height = "amplitude/(2*pi*sigma^2)" "the value at the center",
    }
    estimate |points| {
        let spot = Spot::of(points);
        let sigma = (spot.along * spot.across).sqrt();
        vec![spot.height * 2.0 * PI * sigma * sigma, spot.x, spot.y, sigma]
    }
}

define! {
    /// Gaussian of x and y with a width along each axis.
    gaussian2d_elliptic GAUSSIAN2D_ELLIPTIC ["x", "y"] Peak
    formula "amplitude/(2*pi*sigmax*sigmay)"
        "*exp(-(((x - centerx)/sigmax)^2 + ((y - centery)/sigmay)^2)/2)"
    parameters {
        amplitude: any "the volume, in units of the response times x times y",
        centerx: any "x of the maximum",
        centery: any "y of the maximum",
        sigmax: width "the standard deviation along x",
        sigmay: width "the standard deviation along y",
    }
    derived {
        fwhmx = "2*sqrt(2*ln(2))*sigmax" "full width at half maximum along x",
        fwhmy = "2*sqrt(2*ln(2))*sigmay" "full width at half maximum along y",
        height = "amplitude/(2*pi*sigmax*sigmay)" "the value at the center",
    }
    estimate |points| {
        let spot = Spot::of(points);
        let (sigmax, sigmay) = spot.upright();
        vec![spot.height * 2.0 * PI * sigmax * sigmay, spot.x, spot.y, sigmax, sigmay]
    }
}

define! {
    /// Gaussian of x and y with a width along each of two rotated axes.
    gaussian2d_rotated GAUSSIAN2D_ROTATED ["x", "y"] Peak
    formula "amplitude/(2*pi*sigmax*sigmay)"
        "*exp(-((((x - centerx)*cos(rotation) + (y - centery)*sin(rotation))/sigmax)^2"
        " + (((y - centery)*cos(rotation) - (x - centerx)*sin(rotation))/sigmay)^2)/2)"
    parameters {
        amplitude: any "the volume, in units of the response times x times y",
        centerx: any "x of the maximum",
        centery: any "y of the maximum",
        sigmax: width "the standard deviation along the axis that was turned from x",
        sigmay: width "the standard deviation across it",
        rotation: any "the angle from x to that axis, towards y, in radians",
    }
    derived {
        fwhmx = "2*sqrt(2*ln(2))*sigmax" "full width at half maximum along the turned axis",
        fwhmy = "2*sqrt(2*ln(2))*sigmay" "full width at half maximum across it",
        height = "amplitude/(2*pi*sigmax*sigmay)" "the value at the center",
    }
    estimate |points| {
        let spot = Spot::of(points);
        let area = 2.0 * PI * spot.along * spot.across;
        vec![spot.height * area, spot.x, spot.y, spot.along, spot.across, spot.angle]
    }
}

//! 1. A fused elementwise function: the softplus as one task, written as a closure.

use sparsefuse::prelude::*;

/// `ln(1 + e^x)` of each element, without overflow where `x` is large.
pub(crate) fn softplus<const D: usize>(x: &Array<f64, D>) -> Array<f64, D> {
    x.map(|x| x.maximum(0.0) + (-x.abs()).exp().ln_1p())
}

/// The losses of a logistic model, summed: it fuses with what makes its operand and with the sum.
fn loss(scores: &Vector<f64>, labels: &Vector<f64>) -> Scalar<f64> {
    softplus(&(scores * labels * -1.0)).sum()
}

pub(crate) fn show() -> Result<String, Error> {
    let scores = Vector::linspace(-4.0, 4.0, 1000);
    let labels = scores.greater(0.0).select(1.0, -1.0);
    let loss = loss(&scores, &labels).get()?;
    let explained = scores.runtime().explain();
    Ok(format!(
        "the loss is {loss:.3}; the window that computed it:\n{explained}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::{everywhere, fused_tasks};

    #[test]
    fn softplus_is_what_the_formula_says() -> Result<(), Error> {
        let found = everywhere(|| softplus(&Vector::linspace(-20.0, 20.0, 41)).to_vec())?;
        for (i, found) in found.iter().enumerate() {
            let expected = (1.0 + (i as f64 - 20.0).exp()).ln();
            assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
        }
        let large = softplus(&Vector::from_vec(vec![1e300, -1e300])).to_vec()?;
        assert_eq!(large, [1e300, 0.0]);
        Ok(())
    }

    #[test]
    fn a_loss_is_one_fused_task() -> Result<(), Error> {
        let fused = fused_tasks(|| {
            let (scores, labels) = (Vector::linspace(-1.0, 1.0, 50), Vector::ones([50]));
            loss(&scores, &labels).get()?;
            Ok(())
        })?;
        assert_eq!(fused, 1);
        Ok(())
    }
}

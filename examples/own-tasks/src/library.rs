//! 3. A host task that calls another library: power spectra of signals by `rustfft`.

use rustfft::FftPlanner;
use sparsefuse::num_complex::Complex;
use sparsefuse::prelude::*;
use sparsefuse::runtime::{Access, HostBody, HostTask, Privilege};

/// `|X[k]|^2` of each row, whose discrete Fourier transform `X` is.
///
/// Each rank has some rows, and divides them among its threads. The function gets slices; the plan
/// comes with it. It runs later, so it may not call the runtime.
pub(crate) fn power_spectra(signals: &Array<f64, 2>) -> Result<Array<f64, 2>, Error> {
    let samples = signals.shape()[1];
    if samples == 0 {
        return Ok(signals.clone());
    }
    let plan = FftPlanner::new().plan_fft_forward(samples);
    let task = HostTask::new(move |args| {
        let (signals, power) = (args.read::<f64>(0)?, args.write::<f64>(1)?);
        args.in_parts(power, samples, |first, part| {
            let mut line = vec![Complex::default(); samples];
            let lines = part.chunks_exact_mut(samples).zip(first..);
            for (power, row) in lines {
                for (x, signal) in line.iter_mut().zip(&signals[row * samples..]) {
                    *x = Complex::new(*signal, 0.0);
                }
                plan.process(&mut line);
                for (power, x) in power.iter_mut().zip(&line) {
                    *power = x.norm_sqr();
                }
            }
            Ok(())
        })
    });
    let declared = [
        (Privilege::Read, Access::Rows, DType::F64),
        (Privilege::Write, Access::Rows, DType::F64),
    ];
    let body = HostBody::new("power_spectra", &declared);
    // Host tasks read whole stores; of a view this makes one.
    let signals = signals.contiguous()?;
    let runtime = signals.runtime();
    let power = runtime.new_store(signals.store().shape(), DType::F64);
    runtime.submit_host(&body, &[signals.store(), &power], task)?;
    Array::from_store(power, None)
}

/// Some waves, each with its own frequency.
fn waves(rows: usize, samples: usize) -> Array<f64, 2> {
    let row = Vector::<i64>::arange(rows).cast::<f64>().insert_axis(1);
    let time = Vector::<i64>::arange(samples).cast::<f64>().insert_axis(0);
    let turn = std::f64::consts::TAU / samples as f64;
    map2(&row, &time, |row, time| ((row + 1.0) * time * turn).cos())
}

pub(crate) fn show() -> Result<String, Error> {
    let spectra = power_spectra(&waves(6, 32))?.map(|power| (power + 1e-300).log10());
    let first = spectra.slice((0..1, 0..3)).to_vec()?;
    Ok(format!(
        "the first spectrum begins with 10 to the {first:.1?}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::everywhere::everywhere;

    #[test]
    fn a_wave_has_its_frequency_alone() -> Result<(), Error> {
        let (rows, samples) = (7, 32);
        let found = everywhere(|| power_spectra(&waves(rows, samples))?.to_vec())?;
        for (row, power) in found.chunks(samples).enumerate() {
            for (k, power) in power.iter().enumerate() {
                let is_there = k == row + 1 || k == samples - row - 1;
                let expected = if is_there { 256.0 } else { 0.0 };
                assert!(
                    (power - expected).abs() < 1e-9,
                    "{power} of {k} in row {row}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn a_view_and_nothing_are_signals_too() -> Result<(), Error> {
        let waves = waves(5, 16);
        let all = power_spectra(&waves)?.to_vec()?;
        let some = power_spectra(&waves.slice((1..3, ..)))?.to_vec()?;
        assert_eq!(some, all[16..48]);
        assert!(power_spectra(&Array::zeros([3, 0]))?.is_empty());
        Ok(())
    }
}

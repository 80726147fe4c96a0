//! The coefficients of explicit Runge-Kutta methods.

/// An explicit method of Runge and Kutta whose last slope is the first one of the next step.
#[derive(Debug)]
pub(super) struct Tableau {
    /// The order of the error estimate, by which steps are chosen.
    pub(super) error_order: u32,
    /// At which part of the step each stage behind the first stands.
    pub(super) nodes: &'static [f64],
    /// The weights of the slopes before it, for each stage behind the first.
    pub(super) stages: &'static [&'static [f64]],
    /// The weights of all slopes in the step.
    pub(super) step: &'static [f64],
    /// The weights of the slopes in the error, that at the end of the step included; with two, the
    /// error is made of estimates of two orders.
    pub(super) errors: &'static [&'static [f64]],
    pub(super) between: Between,
}

/// How the state is found between the ends of a step, from the slopes.
#[derive(Debug)]
pub(super) enum Between {
    /// The weight of each slope is a polynomial of the part of the step: its coefficients, from the
    /// linear one.
    Polynomials(&'static [&'static [f64]]),
    /// The polynomial of Hairer, Norsett and Wanner for a method of order 8: both states and slopes
    /// at the ends, and four more sums of slopes, for which three stages more are needed.
    Order8 {
        nodes: &'static [f64],
        stages: &'static [&'static [f64]],
        sums: &'static [&'static [f64]],
    },
}

/// The method of P. Bogacki and L. F. Shampine, *A 3(2) Pair of Runge-Kutta Formulas* (1989).
pub(super) const ORDER_3: Tableau = Tableau {
    error_order: 2,
    nodes: &[1.0 / 2.0, 3.0 / 4.0],
    stages: &[&[1.0 / 2.0], &[0.0, 3.0 / 4.0]],
    step: &[2.0 / 9.0, 1.0 / 3.0, 4.0 / 9.0],
    errors: &[&[5.0 / 72.0, -1.0 / 12.0, -1.0 / 9.0, 1.0 / 8.0]],
    between: Between::Polynomials(&[
        &[1.0, -4.0 / 3.0, 5.0 / 9.0],
        &[0.0, 1.0, -2.0 / 3.0],
        &[0.0, 4.0 / 3.0, -8.0 / 9.0],
        &[0.0, -1.0, 1.0],
    ]),
};

/// The method of J. R. Dormand and P. J. Prince, *A Family of Embedded Runge-Kutta Formulae*
/// (1980), with the polynomials of L. F. Shampine, *Some Practical Runge-Kutta Formulas* (1986).
pub(super) const ORDER_5: Tableau = Tableau {
    error_order: 4,
    nodes: &[1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0],
    stages: &[
        &[1.0 / 5.0],
        &[3.0 / 40.0, 9.0 / 40.0],
        &[44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0],
        &[
            19372.0 / 6561.0,
            -25360.0 / 2187.0,
            64448.0 / 6561.0,
            -212.0 / 729.0,
        ],
        &[
            9017.0 / 3168.0,
            -355.0 / 33.0,
            46732.0 / 5247.0,
            49.0 / 176.0,
            -5103.0 / 18656.0,
        ],
    ],
    step: &[
        35.0 / 384.0,
        0.0,
        500.0 / 1113.0,
        125.0 / 192.0,
        -2187.0 / 6784.0,
        11.0 / 84.0,
    ],
    errors: &[&[
        -71.0 / 57600.0,
        0.0,
        71.0 / 16695.0,
        -71.0 / 1920.0,
        17253.0 / 339_200.0,
        -22.0 / 525.0,
        1.0 / 40.0,
    ]],
    between: Between::Polynomials(&[
        &[
            1.0,
            -8_048_581_381.0 / 2_820_520_608.0,
            8_663_915_743.0 / 2_820_520_608.0,
            -12_715_105_075.0 / 11_282_082_432.0,
        ],
        &[],
        &[
            0.0,
            131_558_114_200.0 / 32_700_410_799.0,
            -68_118_460_800.0 / 10_900_136_933.0,
            87_487_479_700.0 / 32_700_410_799.0,
        ],
        &[
            0.0,
            -1_754_552_775.0 / 470_086_768.0,
            14_199_869_525.0 / 1_410_260_304.0,
            -10_690_763_975.0 / 1_880_347_072.0,
        ],
        &[
            0.0,
            127_303_824_393.0 / 49_829_197_408.0,
            -318_862_633_887.0 / 49_829_197_408.0,
            701_980_252_875.0 / 199_316_789_632.0,
        ],
        &[
            0.0,
            -282_668_133.0 / 205_662_961.0,
            2_019_193_451.0 / 616_988_883.0,
            -1_453_857_185.0 / 822_651_844.0,
        ],
        &[
            0.0,
            40_617_522.0 / 29_380_423.0,
            -110_615_467.0 / 29_380_423.0,
            69_997_945.0 / 29_380_423.0,
        ],
    ]),
};

/// The method DOP853 of E. Hairer, S. P. Norsett and G. Wanner, *Solving Ordinary Differential
/// Equations I*, 2nd edition (1993), section II.5, with the coefficients of their program.
pub(super) const ORDER_8: Tableau = Tableau {
    error_order: 7,
    nodes: &[
        0.05260015195876773,
        0.0789002279381516,
        0.1183503419072274,
        0.2816496580927726,
        0.3333333333333333,
        0.25,
        0.3076923076923077,
        0.6512820512820513,
        0.6,
        0.8571428571428571,
        1.0,
    ],
    stages: &[
        &[0.05260015195876773],
        &[0.0197250569845379, 0.0591751709536137],
        &[0.02958758547680685, 0.0, 0.08876275643042054],
        &[
            0.2413651341592667,
            0.0,
            -0.8845494793282861,
            0.924834003261792,
        ],
        &[
            0.037037037037037035,
            0.0,
            0.0,
            0.17082860872947386,
            0.12546768756682242,
        ],
        &[
            0.037109375,
            0.0,
            0.0,
            0.17025221101954405,
            0.06021653898045596,
            -0.017578125,
        ],
        &[
            0.03709200011850479,
            0.0,
            0.0,
            0.17038392571223998,
            0.10726203044637328,
            -0.015319437748624402,
            0.008273789163814023,
        ],
        &[
            0.6241109587160757,
            0.0,
            0.0,
            -3.3608926294469414,
            -0.868219346841726,
            27.59209969944671,
            20.154067550477894,
            -43.48988418106996,
        ],
        &[
            0.47766253643826434,
            0.0,
            0.0,
            -2.4881146199716677,
            -0.590290826836843,
            21.230051448181193,
            15.279233632882423,
            -33.28821096898486,
            -0.020331201708508627,
        ],
        &[
            -0.9371424300859873,
            0.0,
            0.0,
            5.186372428844064,
            1.0914373489967295,
            -8.149787010746927,
            -18.52006565999696,
            22.739487099350505,
            2.4936055526796523,
            -3.0467644718982196,
        ],
        &[
            2.273310147516538,
            0.0,
            0.0,
            -10.53449546673725,
            -2.0008720582248625,
            -17.9589318631188,
            27.94888452941996,
            -2.8589982771350235,
            -8.87285693353063,
            12.360567175794303,
            0.6433927460157636,
        ],
    ],
    step: &[
        0.054293734116568765,
        0.0,
        0.0,
        0.0,
        0.0,
        4.450312892752409,
        1.8915178993145003,
        -5.801203960010585,
        0.3111643669578199,
        -0.1521609496625161,
        0.20136540080403034,
        0.04471061572777259,
    ],
    errors: &[
        &[
            0.01312004499419488,
            0.0,
            0.0,
            0.0,
            0.0,
            -1.2251564463762044,
            -0.4957589496572502,
            1.6643771824549864,
            -0.35032884874997366,
            0.3341791187130175,
            0.08192320648511571,
            -0.022355307863886294,
            0.0,
        ],
        &[
            -0.18980075407240762,
            0.0,
            0.0,
            0.0,
            0.0,
            4.450312892752409,
            1.8915178993145003,
            -5.801203960010585,
            -0.4226823213237919,
            -0.1521609496625161,
            0.20136540080403034,
            0.02265179219836082,
            0.0,
        ],
    ],
    between: Between::Order8 {
        nodes: &[0.1, 0.2, 0.7777777777777778],
        stages: &[
            &[
                0.056167502283047954,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.25350021021662483,
                -0.2462390374708025,
                -0.12419142326381637,
                0.15329179827876568,
                0.00820105229563469,
                0.007567897660545699,
                -0.008298,
            ],
            &[
                0.03183464816350214,
                0.0,
                0.0,
                0.0,
                0.0,
                0.028300909672366776,
                0.053541988307438566,
                -0.05492374857139099,
                0.0,
                0.0,
                -0.00010834732869724932,
                0.0003825710908356584,
                -0.00034046500868740456,
                0.1413124436746325,
            ],
            &[
                -0.42889630158379194,
                0.0,
                0.0,
                0.0,
                0.0,
                -4.697621415361164,
                7.683421196062599,
                4.06898981839711,
                0.3567271874552811,
                0.0,
                0.0,
                0.0,
                -0.0013990241651590145,
                2.9475147891527724,
                -9.15095847217987,
            ],
        ],
        sums: &[
            &[
                -8.428938276109013,
                0.0,
                0.0,
                0.0,
                0.0,
                0.5667149535193777,
                -3.0689499459498917,
                2.38466765651207,
                2.117034582445028,
                -0.871391583777973,
                2.2404374302607883,
                0.6315787787694688,
                -0.08899033645133331,
                18.148505520854727,
                -9.194632392478356,
                -4.436036387594894,
            ],
            &[
                10.427508642579134,
                0.0,
                0.0,
                0.0,
                0.0,
                242.28349177525817,
                165.20045171727028,
                -374.5467547226902,
                -22.113666853125306,
                7.733432668472264,
                -30.674084731089398,
                -9.332130526430229,
                15.697238121770845,
                -31.139403219565178,
                -9.35292435884448,
                35.81684148639408,
            ],
            &[
                19.985053242002433,
                0.0,
                0.0,
                0.0,
                0.0,
                -387.0373087493518,
                -189.17813819516758,
                527.8081592054236,
                -11.57390253995963,
                6.8812326946963,
                -1.0006050966910838,
                0.7777137798053443,
                -2.778205752353508,
                -60.19669523126412,
                84.32040550667716,
                11.99229113618279,
            ],
            &[
                -25.69393346270375,
                0.0,
                0.0,
                0.0,
                0.0,
                -154.18974869023643,
                -231.5293791760455,
                357.6391179106141,
                93.40532418362432,
                -37.45832313645163,
                104.0996495089623,
                29.8402934266605,
                -43.53345659001114,
                96.32455395918828,
                -39.17726167561544,
                -149.72683625798564,
            ],
        ],
    },
};

impl Tableau {
    /// The weights of the slopes in the state at this part of the step, as far as they go.
    pub(super) fn weights_at(&self, part: f64) -> Vec<f64> {
        match &self.between {
            Between::Polynomials(polynomials) => {
                let value = |coefficients: &&[f64]| {
                    let powers = coefficients.iter().rev();
                    powers.fold(0.0, |sum, coefficient| (sum + coefficient) * part)
                };
                polynomials.iter().map(value).collect()
            }
            Between::Order8 { sums, .. } => self.weights_of_order_8(sums, part),
        }
    }

    /// The polynomial is, from the innermost bracket on,
    /// `y + x (f_0 + (1 - x) (f_1 + x (f_2 + ...)))` with `f_0` the whole change of the step, `f_1`
    /// what the slope at the begin says beyond that, `f_2` what both slopes say, and sums of
    /// slopes.
    fn weights_of_order_8(&self, sums: &[&[f64]], part: f64) -> Vec<f64> {
        let mut weights = vec![0.0; sums[0].len()];
        let end = self.step.len();
        let mut factor = 1.0;
        for number in 0..3 + sums.len() {
            factor *= if number % 2 == 0 { part } else { 1.0 - part };
            match number {
                0 => add(&mut weights, factor, self.step),
                1 => {
                    add(&mut weights, -factor, self.step);
                    weights[0] += factor;
                }
                2 => {
                    add(&mut weights, 2.0 * factor, self.step);
                    weights[0] -= factor;
                    weights[end] -= factor;
                }
                _ => add(&mut weights, factor, sums[number - 3]),
            }
        }
        weights
    }
}

fn add(weights: &mut [f64], factor: f64, others: &[f64]) {
    for (weight, other) in weights.iter_mut().zip(others) {
        *weight += factor * other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&Tableau; 3] = [&ORDER_3, &ORDER_5, &ORDER_8];

    #[test]
    fn weights_are_consistent() {
        for tableau in ALL {
            assert_eq!(tableau.nodes.len(), tableau.stages.len());
            let mut stages: Vec<_> = tableau.nodes.iter().zip(tableau.stages).collect();
            if let Between::Order8 {
                nodes,
                stages: more,
                ..
            } = &tableau.between
            {
                stages.extend(nodes.iter().zip(*more));
            }
            for (node, weights) in stages {
                assert!((weights.iter().sum::<f64>() - node).abs() < 1e-13);
            }
            assert!((tableau.step.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            for weights in tableau.errors {
                assert_eq!(weights.len(), tableau.step.len() + 1);
                assert!(weights.iter().sum::<f64>().abs() < 1e-14);
            }
        }
    }

    #[test]
    fn the_state_between_the_ends_meets_them() {
        for tableau in ALL {
            assert!(tableau.weights_at(0.0).iter().all(|weight| *weight == 0.0));
            let mut step = tableau.step.to_vec();
            step.resize(tableau.weights_at(1.0).len(), 0.0);
            for (weight, step) in tableau.weights_at(1.0).iter().zip(step) {
                assert!((weight - step).abs() < 1e-12, "{weight} {step}");
            }
            // A slope that is 1 everywhere.
            let sum: f64 = tableau.weights_at(0.3).iter().sum();
            assert!((sum - 0.3).abs() < 1e-12, "{sum}");
        }
    }
}

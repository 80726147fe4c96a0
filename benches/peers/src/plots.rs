//! The plots beside the report: time against size, and share of the bandwidth.

use crate::competitors;
use crate::report;
use crate::rounds::{Group, Timed};
use crate::work::Kind;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::path::Path;

type Canvas<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Colors that are told apart by most eyes (Okabe and Ito), and five more.
const COLORS: [RGBColor; 11] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(110, 110, 110),
    RGBColor(160, 140, 60),
    RGBColor(90, 60, 150),
    RGBColor(0, 0, 0),
    RGBColor(150, 30, 60),
];

/// Draws every plot that the groups have figures for; gives the names of the files.
pub(crate) fn draw(folder: &Path, groups: &[Group]) -> Result<Vec<String>, String> {
    register_font("sans-serif", FontStyle::Normal, notosans::REGULAR_TTF)
        .map_err(|_| "the font cannot be read".to_owned())?;
    let mut names = Vec::new();
    let mut add = |name: String, drawn: Outcome| -> Result<(), String> {
        drawn.map_err(|error| format!("{name}: {error}"))?;
        names.push(name);
        Ok(())
    };
    for kind in [Kind::Cg, Kind::Cgs, Kind::Bicgstab, Kind::Gmres] {
        for family in ["poisson2d", "diffusion2d"] {
            let series = of_family(groups, kind, family);
            if series.len() > 1 {
                let name = format!("peers-{}-{family}.png", kind.word());
                let drawn = time_against_size(&folder.join(&name), kind, family, &series);
                add(name, drawn)?;
            }
        }
    }
    let has_bytes = |group: &Group| group.ours().is_some_and(|ours| ours.bytes.is_some());
    if groups.iter().any(has_bytes) {
        let name = "peers-bandwidth.png".to_owned();
        let drawn = shares(&folder.join(&name), groups);
        add(name, drawn)?;
    }
    Ok(names)
}

/// The groups of a solver on grids of several sizes.
fn of_family<'a>(groups: &'a [Group], kind: Kind, family: &str) -> Vec<&'a Group> {
    let is_asked =
        |group: &&Group| group.work.kind == kind && group.work.on.split(':').next() == Some(family);
    groups.iter().filter(is_asked).collect()
}

/// The side of the grid.
fn side(group: &Group) -> f64 {
    let n = group.work.on.split(':').nth(1);
    n.and_then(|n| n.parse().ok()).unwrap_or(f64::NAN)
}

/// Nanoseconds for each row, so that sizes are compared at a glance.
fn per_row(group: &Group, timed: &Timed) -> f64 {
    timed.median() * 1e9 / side(group).powi(2)
}

/// One panel for each number of cores.
fn time_against_size(path: &Path, kind: Kind, family: &str, groups: &[&Group]) -> Outcome {
    let mut cores: Vec<usize> = groups.iter().map(|group| group.threads).collect();
    cores.sort_unstable();
    cores.dedup();
    let canvas = BitMapBackend::new(path, (720 * cores.len() as u32, 560)).into_drawing_area();
    canvas.fill(&WHITE)?;
    for (panel, threads) in canvas.split_evenly((1, cores.len())).iter().zip(cores) {
        let mine: Vec<&Group> = groups
            .iter()
            .copied()
            .filter(|group| group.threads == threads)
            .collect();
        let caption = format!("{} on {family}, {}", kind.word(), report::cores(threads));
        curves(panel, &caption, &mine)?;
    }
    canvas.present()?;
    Ok(())
}

fn curves(panel: &Canvas<'_>, caption: &str, groups: &[&Group]) -> Outcome {
    let times = || {
        let timed = groups
            .iter()
            .flat_map(|group| group.timed.iter().map(|one| per_row(group, one)));
        timed.filter(|time| time.is_finite())
    };
    // The axis has the logarithm of the side, so that its marks are sizes that were measured.
    let sizes = || groups.iter().map(|group| side(group).log2());
    let lowest = times().fold(f64::INFINITY, f64::min) / 1.4;
    let highest = times().fold(0.0, f64::max) * 1.4;
    let smallest = sizes().fold(f64::INFINITY, f64::min) - 0.3;
    // With room for the names.
    let largest = sizes().fold(0.0, f64::max) + 1.9;
    let mut chart = ChartBuilder::on(panel)
        .caption(caption, ("sans-serif", 24))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(smallest..largest, (lowest..highest).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("grid")
        .y_desc("ns per row and iteration")
        .x_labels(12)
        .x_label_formatter(&|side| {
            let is_whole = (side - side.round()).abs() < 1e-6;
            if is_whole {
                format!("{:.0}²", side.exp2())
            } else {
                String::new()
            }
        })
        .y_label_formatter(&|time| {
            format!("{time:.3}")
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_owned()
        })
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 17))
        .light_line_style(WHITE)
        .draw()?;
    for (competitor, color) in competitors::ALL.iter().zip(COLORS.iter().cycle()) {
        if !groups
            .iter()
            .any(|group| group.find(competitor.name).is_some())
        {
            continue;
        }
        let points: Vec<(f64, f64)> = groups
            .iter()
            .flat_map(|group| {
                Some((
                    side(group).log2(),
                    per_row(group, group.find(competitor.name)?),
                ))
            })
            .collect();
        let width = if competitor.is_ours() { 4 } else { 2 };
        let style = color.stroke_width(width);
        chart
            .draw_series(LineSeries::new(points.clone(), style))?
            .label(competitor.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        let dots = points
            .into_iter()
            .map(|point| Circle::new(point, width + 1, color.filled()));
        chart.draw_series(dots)?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(200, 200, 200))
        .label_font(("sans-serif", 15))
        .draw()?;
    Ok(())
}

/// Bars: what sparsefuse and its fastest rival make of the bandwidth.
fn shares(path: &Path, groups: &[Group]) -> Outcome {
    const HEIGHT: i32 = 38;
    const LEFT: i32 = 330;
    const WIDTH: i32 = 560;
    const TOP: i32 = 90;
    let shown: Vec<(&Group, &Timed)> = groups
        .iter()
        .filter_map(|group| Some((group, group.ours()?)))
        .filter(|(_, ours)| ours.bytes.is_some())
        .collect();
    let height = TOP + HEIGHT * shown.len() as i32 + 50;
    let size = ((LEFT + WIDTH + 150) as u32, height as u32);
    let canvas = BitMapBackend::new(path, size).into_drawing_area();
    canvas.fill(&WHITE)?;
    let font = |size: i32| ("sans-serif", size).into_font();
    let title = "Bytes counted over time, as a share of the triad measured beside it";
    canvas.draw(&Text::new(title, (20, 16), font(22)))?;
    canvas.draw(&Text::new(
        "upper bar: sparsefuse, lower bar: fastest peer; beyond 150 % cut off (the caches)",
        (20, 48),
        font(16),
    ))?;
    let place = |share: f64| LEFT + (share.min(1.5) / 1.5 * f64::from(WIDTH)) as i32;
    for percent in [0, 50, 100, 150] {
        let x = place(f64::from(percent) / 100.0);
        let line = [(x, TOP - 4), (x, height - 40)];
        canvas.draw(&PathElement::new(
            line,
            RGBColor(190, 190, 190).stroke_width(1),
        ))?;
        canvas.draw(&Text::new(
            format!("{percent} %"),
            (x - 14, height - 34),
            font(15),
        ))?;
    }
    for (k, (group, ours)) in shown.into_iter().enumerate() {
        let y = TOP + HEIGHT * k as i32;
        let name = format!("{}, {}", group.work.name(), report::cores(group.threads));
        canvas.draw(&Text::new(name, (20, y + 7), font(16)))?;
        let rival = group.fastest(|timed| !competitors::is_ours(timed.name));
        let bars = [(Some(ours), COLORS[0], 0), (rival, COLORS[1], 15)];
        for (timed, color, below) in bars {
            let Some((timed, bytes)) = timed.and_then(|timed| Some((timed, timed.bytes?))) else {
                continue;
            };
            let share = bytes as f64 / timed.median() / group.bandwidth();
            let corners = [(LEFT, y + below + 2), (place(share), y + below + 15)];
            canvas.draw(&Rectangle::new(corners, color.filled()))?;
            let label = format!("{:.0} % {}", 100.0 * share, timed.name);
            canvas.draw(&Text::new(label, (place(share) + 5, y + below), font(14)))?;
        }
    }
    canvas.present()?;
    Ok(())
}

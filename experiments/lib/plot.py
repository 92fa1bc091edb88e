"""Figures by gnuplot: panels of lines, told apart by colour (Okabe and Ito) and by shape."""

import os
import subprocess

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")
# Point types of gnuplot, filled and hollow.
CIRCLE, SQUARE, UP, DOWN, DIAMOND = 7, 5, 9, 11, 13
HOLLOW = {CIRCLE: 6, SQUARE: 4, UP: 8, DOWN: 10, DIAMOND: 12}


class Line:
    """Points in the order to be joined in.  A dashed line has hollow points; points=False has none."""

    def __init__(self, title, xy, colour, shape=CIRCLE, dashed=False, points=True):
        self.title, self.xy, self.colour, self.shape = title, list(xy), colour, shape
        self.dashed, self.points = dashed, points


class Panel:
    def __init__(self, title, x, y, lines, log="", key="bottom right", extra=""):
        self.title, self.x, self.y, self.lines = title, x, y, lines
        self.log, self.key, self.extra = log, key, extra


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', "'").replace("_", "\\_") + '"'


def panel_script(panel, number):
    lines = [line for line in panel.lines if line.xy]
    if not lines:
        return ""
    out = []
    for k, line in enumerate(lines):
        rows = "\n".join("%.10g %.10g" % point for point in line.xy)
        out.append("$p%d_%d << EOD\n%s\nEOD" % (number, k, rows))
    out += ["unset logscale", "set autoscale", "set xtics autofreq", "set rmargin -1", "set format '%g'",
            "unset label", "unset arrow"]
    out += ["set logscale %s" % axis for axis in panel.log]
    out += ["set title " + quoted(panel.title), "set xlabel " + quoted(panel.x),
            "set ylabel " + quoted(panel.y)]
    out += ["set key %s" % panel.key if panel.key else "unset key", panel.extra]
    parts = []
    for k, line in enumerate(lines):
        how = ("linespoints pt %d ps 0.8" % (HOLLOW[line.shape] if line.dashed else line.shape)
               if line.points else "lines")
        parts.append("$p%d_%d with %s lw 1.8 lc rgb '%s' dt %d title %s"
                     % (number, k, how, line.colour, 2 if line.dashed else 1, quoted(line.title)))
    out.append("plot " + ", \\\n  ".join(parts))
    return "\n".join(out)


def script(panels, columns, term, width):
    rows = -(-len(panels) // columns)
    size = "%d,%d" % (width * columns, 360 * rows)
    out = ["set terminal %s size %s font 'Helvetica,12' background 'white'" % (term, size)]
    out += ["set grid lc rgb '#dddddd' lt 1", "set border 3", "set tics nomirror",
            "set key samplen 2 spacing 1.1 font ',10'"]
    out.append("set multiplot layout %d,%d" % (rows, columns))
    for number, panel in enumerate(panels):
        out.append(panel_script(panel, number) or "set multiplot next")
    out.append("unset multiplot")
    return "\n".join(out) + "\n"


def run_gnuplot(text, path):
    """Runs the script with its output in `path`, which is whole or not there."""
    part = path + ".part"
    try:
        done = subprocess.run(["gnuplot"],
                              input="set output '%s'\n" % part.replace("'", "''") + text + "unset output\n",
                              text=True, capture_output=True)
    except FileNotFoundError:
        raise SystemExit("gnuplot is not installed; apt-get install gnuplot-nox") from None
    if done.returncode or "line " in done.stderr:
        raise SystemExit("gnuplot: %s: %s" % (path, done.stderr.strip() or "failed"))
    os.replace(part, path)


def terminal(path):
    return "pngcairo" if path.endswith(".png") else "svg"


def draw(path, panels, columns=2, width=480):
    """Writes path, which ends in .svg or .png."""
    run_gnuplot(script(panels, columns, terminal(path), width), path)

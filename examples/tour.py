# %% [markdown]
# # A tour of random binning features
#
# Run it as a script, `python examples/tour.py FOLDER`, which leaves the figures in FOLDER, or cell
# by cell in an editor that knows `# %%`.

# %%
import pathlib
import sys
import time

import matplotlib.pyplot as plt
import numpy as np

import kerbin

here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 and "ipykernel" not in sys.modules else ".")
rng = np.random.default_rng(0)

# %% [markdown]
# ## What the features are
#
# Each grid cuts the line into bins of one random width.  Two points share a bin of a grid with
# probability k(x, y); the share of the grids in which they meet comes near it.

# %%
x = np.linspace(0, 4, 401)[:, None]
figure, axes = plt.subplots(figsize=(6, 3.5))
for grids in 10, 100, 10000:
    Z = kerbin.RandomBinning(grids=grids, sigma=1, scale="none").fit_transform(x)
    axes.plot(x, (Z @ Z[0].T).toarray(), label=f"{grids} grids", lw=1)
axes.plot(x, np.exp(-x), "k--", lw=1, label="exp(-x), the kernel")
axes.set(xlabel="x", ylabel="share of grids where x meets 0")
axes.legend(frameon=False)
figure.tight_layout()
figure.savefig(here / "kernel.png", dpi=120)

# %% [markdown]
# ## More grids, smoother functions
#
# The same data and the same kernel.  With few grids the function is a staircase.

# %%
points = np.sort(rng.random((300, 1)), axis=0)
values = np.sin(12 * points[:, 0]) * points[:, 0] + 0.15 * rng.standard_normal(300)
line = np.linspace(0, 1, 1000)[:, None]
figure, rows = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
for axes, grids in zip(rows, (4, 32, 1024)):
    model = kerbin.BinningRegressor(grids=grids, sigma=0.3, lambda_=1).fit(points, values)
    axes.plot(points, values, ".", color="0.75", ms=3)
    axes.plot(line, model.predict(line), lw=1.2)
    axes.set_title(f"{grids} grids", fontsize=10)
figure.tight_layout()
figure.savefig(here / "grids.png", dpi=120)

# %% [markdown]
# ## Classes, and how sure the model is

# %%
square = rng.random((4000, 2)) * 4
label = (np.floor(square).sum(axis=1) % 2).astype(int)
label ^= rng.random(4000) < 0.05
model = kerbin.BinningClassifier(loss="logistic", sigma=0.3, lambda_=0.3, scale="none")
model.fit(square, label)
steps = np.linspace(0, 4, 200)
mesh = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(figsize=(4.6, 4))
shown = axes.imshow(
    model.predict_proba(mesh)[:, 1].reshape(200, 200),
    extent=(0, 4, 0, 4),
    origin="lower",
    cmap="RdBu",
    vmin=0,
    vmax=1,
)
axes.set_title("probability of the second class", fontsize=10)
figure.colorbar(shown, shrink=0.85)
figure.tight_layout()
figure.savefig(here / "checkers.png", dpi=120)

# %% [markdown]
# ## What it costs
#
# Time grows with the rows, not with their square.

# %%
sizes, seconds = [4000, 16000, 64000], []
for size in sizes:
    X = rng.random((size, 5))
    began = time.perf_counter()
    kerbin.BinningRegressor(grids=64, sigma=2, lambda_=1).fit(X, np.sin(5 * X).sum(axis=1))
    seconds.append(time.perf_counter() - began)
figure, axes = plt.subplots(figsize=(5, 3.5))
axes.loglog(sizes, seconds, "o-", label="measured")
axes.loglog(sizes, np.array(sizes) * seconds[-1] / sizes[-1], "k--", lw=1, label="in proportion")
axes.set(xlabel="rows", ylabel="seconds of a fit", xticks=sizes, xticklabels=sizes)
axes.minorticks_off()
axes.legend(frameon=False)
figure.tight_layout()
figure.savefig(here / "cost.png", dpi=120)
print("figures:", ", ".join(sorted(path.name for path in here.glob("*.png"))))

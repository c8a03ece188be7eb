"""The training loop learns, says how it goes, stops where it should, and can go on."""

import math

import pytest
import torch
from torch import nn

from attnbook.progress import QUIET
from attnbook.training import Training


def line(**options) -> Training:
    """A training that fits y = 2x."""
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    draws = torch.Generator().manual_seed(1)

    def batch_loss(model):
        x = torch.randn(16, 1, generator=draws)
        return ((model(x) - 2 * x) ** 2).mean()

    def score(model):
        assert not model.training
        assert not torch.is_grad_enabled()
        return -abs(model.weight.item() - 2)

    return Training(model, batch_loss, **{"lr": 0.05, "score": score, "every": 10, **options})


@pytest.fixture
def loud(monkeypatch):
    monkeypatch.setenv(QUIET, "0")


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setenv(QUIET, "1")


def test_it_learns_and_records_every_step():
    training = line().run(200)
    assert training.model.weight.item() == pytest.approx(2, abs=0.05)
    assert (training.step, len(training.losses)) == (200, 200)
    assert list(training.scores) == list(range(10, 201, 10))
    assert training.stopped == "all steps done"
    assert training.seconds > 0
    assert training.model.training  # the next loss is again one of training


def test_it_stops_once_the_goal_is_reached():
    training = line(goal=-0.1).run(1000)
    assert training.stopped == "goal reached"
    assert training.step < 1000
    assert training.scores[training.step] >= -0.1
    assert all(score < -0.1 for score in list(training.scores.values())[:-1])
    assert training.run(1000).stopped == "goal reached"


def test_the_last_step_is_measured_too():
    assert list(line().run(25).scores) == [10, 20, 25]


def test_going_on_gives_what_one_run_gives():
    parts, whole = line().run(15).run(60), line().run(60)
    assert parts.losses == whole.losses
    assert parts.model.weight.item() == whole.model.weight.item()


def test_an_interrupt_loses_nothing(capsys):
    whole = line().run(60)
    training = line()
    draw = training.batch_loss

    def interrupted(model):
        if training.step == 30:
            raise KeyboardInterrupt
        return draw(model)

    training.batch_loss = interrupted
    training.run(60)
    assert (training.step, training.stopped) == (30, "interrupted")
    assert "Interrupted after step 30 of 60; run(60) goes on" in capsys.readouterr().out
    training.batch_loss = draw
    assert training.run(60).losses == whole.losses


def test_it_is_silent_under_the_pipeline(capsys):
    line().run(40)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("loud")
def test_it_foretells_its_time_and_shows_how_far_it_is(capsys):
    line().run(40)
    out, err = capsys.readouterr()
    assert "40 steps take about 1 s here." in out
    assert "40/40" in out
    assert "loss" in out
    assert "score" in out
    assert err == ""


def test_a_loss_that_is_not_finite_is_explained_and_not_learned():
    training = line()
    training.run(5)
    training.batch_loss = lambda model: model.weight.sum() * math.nan
    with pytest.raises(ValueError, match="loss is nan at step 6.*learning rate"):
        training.run(10)
    assert math.isfinite(training.model.weight.item())
    assert training.stopped == "failed"


@pytest.mark.parametrize(
    ("loss", "got"), [(None, "NoneType"), (0.5, "float"), (torch.zeros(3), r"shape \(3,\)")]
)
def test_a_loss_of_the_wrong_kind_is_named(loss, got):
    with pytest.raises(ValueError, match=f"tensor with one number; got {got}"):
        Training(nn.Linear(1, 1), lambda model: loss).run(1)


def test_measuring_every_no_steps_is_refused():
    with pytest.raises(ValueError, match="every must be 1 or more.*got 0"):
        line(every=0)


def test_the_gradient_is_clipped():
    training = line(clip=1e-3, optimizer=None)
    lengths = []
    step = training.optimizer.step

    def watched():
        lengths.append(training.model.weight.grad.norm().item())
        step()

    training.optimizer.step = watched
    training.run(5)
    assert max(lengths) <= 1.001e-3


def test_the_learning_curve_is_a_mean_over_blocks():
    training = line().run(45)
    drawn = training.learning_curve().lines[0]
    assert list(drawn.get_xdata()) == [10, 20, 30, 40]
    assert drawn.get_ydata()[0] == pytest.approx(sum(training.losses[:10]) / 10)
    with pytest.raises(ValueError, match="no curve yet: train at least 10"):
        line().run(9).learning_curve()

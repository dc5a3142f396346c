"""Mistakes in the step of a training and in its schedule."""

from mutants.mistake import Mistake

STEP = "training/test_step.py"
PROGRESS = "training/test_progress.py"

MISTAKES = (
    Mistake("the rate never reaches the optimiser", 'group["lr"] = rate', 'group["lr"] = group["lr"]', STEP),
    Mistake("Adam instead of AdamW", "return torch.optim.AdamW(groups,", "return torch.optim.Adam(groups,", STEP),
    Mistake("betas are left at torch's", "betas=config.betas, fused=True", "fused=True", STEP),
    Mistake(
        "weight decay reaches parameters that are marked",
        '{"params": marked, "weight_decay": 0.0}',
        '{"params": marked, "weight_decay": config.weight_decay}',
        STEP,
    ),
    Mistake(
        "squares behind the name l1",
        '{"l1": F.l1_loss, "l2": F.mse_loss,',
        '{"l1": F.mse_loss, "l2": F.mse_loss,',
        STEP,
    ),
    Mistake("SSIM lacks the sample covariance", "sample = WINDOW**2 / (WINDOW**2 - 1)", "sample = 1", STEP),
    Mistake(
        "the loss sees the real part",
        "LOSSES[recipe.loss](root_sum_of_squares(image), batch.target)",
        "LOSSES[recipe.loss](image.real[:, :1], batch.target)",
        STEP,
    ),
    Mistake(
        "gradients are not clipped",
        "clip_grads_with_norm_(parameters, recipe.optimiser.clip_norm, norm)",
        "clip_grads_with_norm_(parameters, 1e9, norm)",
        STEP,
    ),
    Mistake("a share of the batch weighs as the whole", "* (len(batch) / recipe.batch_size)", "* 1.0", STEP),
    Mistake(
        "an update that is not finite is taken",
        "return math.isfinite(self.loss) and math.isfinite(self.norm)",
        "return True",
        "training/test_loop.py -k 'not_finite'",
    ),
    Mistake(
        "what is not finite reaches the weights",
        "(~numbers[:2].isfinite().all()).float()",
        "torch.zeros(())",
        "training/test_loop.py -k 'not_finite'",
    ),
    Mistake(
        "the average follows steps that were left out",
        "share = torch.where(finite, ",
        "share = torch.where(finite | True, ",
        "training/test_steps.py -k left_out",
    ),
    Mistake(
        "a checkpoint is written while a step is unread",
        "asked = asked.with_those_of(self.settle())",
        "pass",
        "training/test_steps.py -k 'every_step_is_read'",
    ),
    Mistake(
        "the cosine goes down twice as fast",
        "0.5 * (1 + math.cos(math.pi * done))",
        "0.5 * (1 + math.cos(2 * math.pi * done))",
        "training/test_schedule.py",
    ),
    Mistake(
        "the cosine ends at zero whatever the floor",
        "self.floor + (self.peak - self.floor) * 0.5",
        "self.peak * 0.5",
        "training/test_schedule.py",
    ),
    Mistake(
        "warm-up starts at zero",
        "return self.peak * (place + self.stride) / self.warmup",
        "return self.peak * place / self.warmup",
        "training/test_schedule.py",
    ),
    Mistake("another learning rate", "learning_rate: float = 8e-4", "learning_rate: float = 1e-3", "test_defaults.py"),
    Mistake("a shorter warm-up", "warmup_epochs: float = 5.0", "warmup_epochs: float = 1.0", "test_defaults.py"),
    Mistake(
        "the constant rate falls like the cosine",
        'if self.shape == "constant":',
        'if self.shape == "":',
        "training/test_schedule.py",
    ),
    Mistake("the last decay is linear", "(1 - math.sqrt(done))", "(1 - done)", "training/test_schedule.py"),
    Mistake(
        "the last decay starts from the peak",
        "(self._undecayed(self.decay_from) - self.decay_to)",
        "(self.peak - self.decay_to)",
        "training/test_schedule.py",
    ),
    Mistake(
        "the average remembers the first weights",
        "share = (1 - self.decay) / (1 - self.decay**steps)",
        "share = 1 - self.decay",
        "training/test_average.py",
    ),
    Mistake(
        "validation leaves the average in the model",
        "            self._set(own)\n",
        "            pass\n",
        "training/test_average.py",
    ),
    Mistake(
        "annealing goes over another length",
        "length = start + max(1, round(recipe.anneal.epochs * epoch))",
        "length = start + max(1, round(2 * recipe.anneal.epochs * epoch))",
        "training/test_plan.py training/run/test_anneal.py",
    ),
    Mistake(
        "annealing ends above zero",
        "decay_length=length - start, decay_to=0.0",
        "decay_length=length - start, decay_to=1e-5",
        "training/test_plan.py training/run/test_anneal.py",
    ),
    Mistake(
        "an annealed copy keeps the best of the run",
        "values = asdict(replace(progress, best=None))",
        "values = asdict(progress)",
        "training/run/test_anneal.py",
    ),
    Mistake("gradients of the step before are kept", "optimiser.zero_grad(set_to_none=True)", "pass", STEP),
    Mistake(
        "layers always run in bfloat16",
        "torch.bfloat16, enabled=recipe.bf16)",
        "torch.bfloat16, enabled=True)",
        STEP,
    ),
    Mistake(
        "no parameter decays",
        '{"params": others, "weight_decay": config.weight_decay}',
        '{"params": others, "weight_decay": 0.0}',
        STEP,
    ),
    Mistake(
        "the loss of an epoch is that of its last step",
        "progress.loss_sum + result.loss, progress.loss_steps + 1",
        "result.loss, progress.loss_steps + 1",
        PROGRESS,
    ),
    Mistake("a new epoch goes on with the last one's losses", "loss_sum=0.0, loss_steps=0)", "skipped=0)", PROGRESS),
    Mistake(
        "skips far apart end the training",
        "loss_steps=loss_steps, skipped_in_row=0)",
        "loss_steps=loss_steps)",
        PROGRESS,
    ),
    Mistake(
        "gradients of processes are averaged",
        "gradient.copy_(part.view_as(gradient))",
        "gradient.copy_(part.view_as(gradient) / self.size)",
        "runtime/test_processes.py",
    ),
    Mistake(
        "every epoch has the same order",
        'seed_of("order", seed, epoch)',
        'seed_of("order", seed, 0)',
        "data/test_order.py",
    ),
    Mistake(
        "every epoch has the same masks",
        "Draw(self.config.seed, self.epoch, case.id",
        "Draw(self.config.seed, 0, case.id",
        "data/test_slices.py",
    ),
    Mistake(
        "the average of a device forgets how many steps were added",
        "(1 - self.decay) / (1 - self.decay**self._added), 0.0)",
        "1 - self.decay + 0 * self._added, 0.0)",
        "training/test_average.py training/test_steps.py",
    ),
)

# Every target makes its own set-up: .venv with the versions of constraints.txt. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test check audit bench gpu docs numbers notebooks results ui clean

PYTHON ?= python3
PORT ?= 5000
ARGS ?=
BIN := .venv/bin
# installs what follows it into .venv; of pip's output only that of a failure is shown
PIP_INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt
# pip compiles nothing: Python compiles what is imported and keeps it. Empty, as a 1 in the environment would forbid to keep it
export PYTHONDONTWRITEBYTECODE :=
# MLflow's, of the UI too; an environment that says otherwise wins
export MLFLOW_DISABLE_TELEMETRY ?= true
INSTALLED := .venv/.installed
DOCS_INSTALLED := .venv/.docs_installed
TYPES_INSTALLED := .venv/.types_installed
# long hexadecimal numbers here are checksums and commits, those of twelve digits revisions of MLflow's database
SECRETS := git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --no-verify --exclude-lines "[0-9a-f]{32}|[^0-9a-f][0-9a-f]{12}[^0-9a-f]"
# $(call trace_page,NAME,EXPERIMENT,SETTINGS,FILES,MORE): the run trace-NAMEMORE, of whose tables and figures FILES go to
# docs/results/trace/ as NAME-FILE
define trace_page
$(BIN)/python -m pipeline +experiment=$(2) $(3) run_name=trace-$(1)$(5) threads=1 $(ARGS)
	$(BIN)/python -m pipeline.export trace-$(1)$(5) build/results
	for file in $(4); do cp build/results/trace-$(1)$(5)/$$file docs/results/trace/$(1)-$$file; done
endef
FAILURES := claims.csv failures.csv failures.svg paired.csv
TIMED := estimate.trials=1 estimate.runs=1 timing.trials=3

help:  ## this list
	@grep -E '^[a-z]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+): .*## /  make \1\t/' | expand -t 16

run: $(INSTALLED)  ## train and compare the paper's model, the default and the best; ARGS='size=tiny seed=1' adds settings
	@$(BIN)/python -m pipeline +experiment=walking $(ARGS)

test: $(INSTALLED)  ## the whole test suite; ARGS='-k sampler' adds options of pytest
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

# the types of docs/extensions are those of what builds the documentation
check: $(TYPES_INSTALLED)  ## format, lint, types, import contracts, secrets and the fast tests
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(SECRETS)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m 'not slow' $(ARGS)

# asks PyPI about every pinned version, so it needs the network; --strict: a package it cannot ask about is a failure
audit: $(INSTALLED)  ## known vulnerabilities of the pinned versions; needs the network
	$(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt -e '.[audit]'
	@$(BIN)/pip-audit -r constraints.txt --strict --no-deps --disable-pip --progress-spinner off \
		|| { echo 'error: vulnerable versions are listed above, or PyPI could not be asked: raise them in constraints.txt, or try again with a network' >&2; exit 1; }

bench: $(INSTALLED)  ## speed and kernel errors beside naive forms and peers; ARGS='--output FILE' in place of build/bench.md
	$(BIN)/python benchmarks/run_all.py $(ARGS)

gpu: $(INSTALLED)  ## all that waits for a GPU: its tests, two jobs at once, hot spots and an epoch beside the CPU
	$(BIN)/python benchmarks/gpu.py $(ARGS)

results: $(INSTALLED)  ## make the pages of docs/results/ again; hours. ARGS='resume=true' goes on where it stopped
	$(BIN)/python -m pipeline +experiment=figure3 data=mocap,swimmer,handwriting run_name=figure3-paper $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure3 data=mocap,swimmer update=bayes run_name=figure3-bayes $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure3 data=handwriting 'seed=range(10)' update=bayes run_name=figure3-bayes-handwriting $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure3 data=moving_mnist 'seed=range(8)' run_name=figure3-moving-mnist-paper $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure3 data=moving_mnist 'seed=range(3)' update=bayes run_name=figure3-moving-mnist-bayes $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure4 data=mocap,swimmer run_name=figure4-paper $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure4 data=handwriting 'seed=range(5)' run_name=figure4-paper-handwriting $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure4 data=mocap,swimmer contender=refined_bayes/iid,refined_bayes/orthogonal,refined/lstm run_name=figure4-bayes $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure4 data=handwriting 'seed=range(5)' contender=refined_bayes/iid,refined_bayes/orthogonal,refined/lstm run_name=figure4-bayes-handwriting $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure4 data=moving_mnist 'seed=range(3)' run_name=figure4-moving-mnist-paper $(ARGS)
	$(BIN)/python -m pipeline +experiment=figure4 data=moving_mnist 'seed=range(3)' contender=refined_bayes/iid,refined_bayes/orthogonal,refined/lstm run_name=figure4-moving-mnist-bayes $(ARGS)
	$(BIN)/python -m pipeline +experiment=stability run_name=stability $(ARGS)
	for data in mocap handwriting; do \
		$(BIN)/python -m pipeline +experiment=beyond contender=$$data/psrnn_kernel,$$data/no_state_kernel,$$data/echo_state_kernel,$$data/kalman_kernel,$$data/lstm_kernel 'seed=range(10,20)' evaluate.first_step=8 run_name=ahead-$$data $(ARGS); done
	$(BIN)/python -m pipeline +experiment=beyond 'hydra.sweeper.params.contender=$${contenders:[swimmer]}' evaluate.first_step=8 run_name=ahead-swimmer $(ARGS)
	for data in swimmer handwriting; do \
		$(BIN)/python -m pipeline +experiment=beyond "hydra.sweeper.params.contender=\$${contenders:[$$data]}" data.seed=1 evaluate.first_step=8 run_name=ahead-$$data-second $(ARGS); done
	$(BIN)/python -m pipeline +experiment=beyond 'hydra.sweeper.params.contender=$${contenders:[mocap]}' data=mocap data.seed=1 data.test_tracks=drawn evaluate.first_step=8 run_name=ahead-mocap-second $(ARGS)
	for data in mocap swimmer handwriting; do \
		$(BIN)/python -m pipeline +experiment=beyond "hydra.sweeper.params.contender=\$${contenders:[$${data}_effort]}" 'seed=range(10,30)' evaluate.first_step=16 run_name=effort-$$data $(ARGS); done
	$(BIN)/python -m pipeline +experiment=beyond 'hydra.sweeper.params.contender=$${contenders:[mocap_effort]}' 'seed=range(10,30)' evaluate.first_step=16 data=mocap data.test_tracks=drawn data.seed=1 run_name=effort-mocap-second $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond 'hydra.sweeper.params.contender=$${contenders:[handwriting_effort]}' 'seed=range(10,30)' evaluate.first_step=16 data.seed=1 run_name=effort-handwriting-second $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond contender=handwriting_state/no_state_kernel,handwriting_effort/psrnn,mocap_state/no_state_kernel,mocap_effort/psrnn,swimmer_state/no_state_kernel,swimmer_effort/psrnn 'seed=range(10,30)' evaluate.first_step=16 run_name=state-adds $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond contender=handwriting_readout/no_state_kernel,handwriting_readout/psrnn,mocap_readout/no_state_kernel,mocap_readout/psrnn,swimmer_readout/no_state_kernel,swimmer_readout/psrnn 'seed=range(10,30)' evaluate.first_step=16 run_name=state-best-readout $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond contender=handwriting_readout/no_state_kernel,handwriting_readout/psrnn,swimmer_readout/no_state_kernel,swimmer_readout/psrnn 'seed=range(10,30)' evaluate.first_step=16 data.seed=1 run_name=state-best-readout-second $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond contender=mocap_readout/no_state_kernel,mocap_readout/psrnn 'seed=range(10,30)' evaluate.first_step=16 data=mocap data.seed=1 data.test_tracks=drawn run_name=state-best-readout-mocap-second $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond 'hydra.sweeper.params.contender=$${contenders:[mocap_readout,swimmer_readout,handwriting_readout]}' 'seed=range(10,22)' evaluate.first_step=16 run_name=one-readout $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond contender=mocap/last_value,mocap_linear/psrnn,mocap_linear/echo_state,mocap_linear/lstm 'seed=range(10,20)' evaluate.first_step=16 run_name=state-alone $(ARGS)
	$(BIN)/python -m pipeline +experiment=beyond contender=mocap/last_value,mocap_linear/psrnn,mocap_linear/echo_state,mocap_linear/lstm 'seed=range(10,20)' evaluate.first_step=16 data=mocap data.test_tracks=drawn data.seed=1 run_name=state-alone-second $(ARGS)
	for data in lorenz96 ecg hopper; do \
		$(BIN)/python -m pipeline +experiment=beyond contender=$$data/psrnn_kernel,$$data/echo_state_kernel,$$data/kalman_kernel,$$data/lstm_kernel,$$data/gru_kernel,$$data/min_gru_kernel,$$data/no_state_kernel evaluate.first_step=8 run_name=ahead-$$data $(ARGS); done
	$(BIN)/python -m pipeline +experiment=beyond 'seed=range(10,13)' 'hydra.sweeper.params.contender=$${contenders:[moving_mnist]}' run_name=ahead-moving_mnist hydra/launcher=joblib hydra.launcher.n_jobs=2 $(ARGS)
	for data in mocap swimmer handwriting; do \
		$(BIN)/python -m pipeline +experiment=seconds contender=$$data/psrnn_kernel,$$data/lstm_kernel,$$data/echo_state_kernel,$$data/kalman_kernel,$$data/no_state_kernel run_name=seconds-$$data $(ARGS); \
		$(BIN)/python -m pipeline +experiment=figure3_projected contender=projected/$${data}_paper,projected/$${data}_state,projected/$${data}_kernel run_name=figure3-projected-$$data $(ARGS); \
		$(BIN)/python -m pipeline +experiment=figure4_projected contender=projected/$${data}_paper,projected/$${data}_state,projected/$${data}_kernel run_name=figure4-projected-$$data $(ARGS); \
		$(BIN)/python -m pipeline +experiment=ensembles contender=$$data/psrnn_kernel,$$data/echo_state_kernel,$$data/lstm_kernel,$$data/no_state_kernel,equal_size/$${data}_lstm_kernel run_name=ensembles-$$data $(ARGS); done
	$(BIN)/python -m pipeline +experiment=ett contender=ett/lstm,ett/ridge,ett/psrnn,ett/no_state,ett/no_difference,ett/echo_state,ett/seasonal_naive seed=0 run_name=ett data.source=etdataset $(ARGS)
	$(BIN)/python -m pipeline +experiment=ett contender=ett/ridge,ett/psrnn,ett/no_state,ett/no_difference,ett/echo_state,ett/seasonal_naive data.source=etdataset seed=0,1,2 threads=1 run_name=ett-seeds $(ARGS)
	for name in mctn mctn_synthetic mctn_missing mctn_missing_mosi mctn_bimodal mctn_trimodal mctn_mmmo mctn_mmmo_text; do \
		$(BIN)/python -m pipeline +experiment=$$name run_name=$${name//_/-} threads=1 $(ARGS); done
	$(BIN)/python -m pipeline +experiment=mctn mctn.arm=cyclic-t-a,none-t,shuffled-t-a mctn.share=padded mctn.weights.translation=0.1 mctn.dropout=0 fit.learning_rate=0.0001 fit.epochs=200 fit.l2=0.01 data.steps=20 'seed=range(10)' threads=1 run_name=mctn-authors $(ARGS)
	for setting in settings:share=core,padded,none weights:weights.translation=0,0.1,1,5,20,80,160,320 feedback:feedback=prediction,teacher,none; do \
		$(BIN)/python -m pipeline +experiment=mctn_synthetic data.link=true mctn.arm=cyclic-t-v mctn.$${setting#*:} 'seed=range(6)' threads=1 run_name=mctn-$${setting%%:*} $(ARGS); done
	for name in experts experts_ciphers experts_fewshot; do \
		$(BIN)/python -m pipeline +experiment=$$name run_name=$${name//_/-} $(ARGS); done
	$(BIN)/python -m pipeline +experiment=experts +budget=two_cores threads=1 run_name=experts-two-cores $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts_all +budget=two_cores fit.updates=500 experts.arm=dense,token,sentence,token+static,token+dynamic threads=1 run_name=experts-all $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts_routing 'seed=range(3)' threads=1 run_name=experts-routing $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts experts.arm=token+shared seed=0 run_name=experts-main $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts experts.arm=dense,token+shared seed=0 'data.languages=[de,fr,cs]' run_name=experts-captions $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts_fewshot +budget=two_cores experts.variant=static-all,static-adapters fewshot.pairs=256 threads=1 run_name=experts-fewshot-256 $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts_ciphers data.families=1 experts.arm=dense_wide,token,token+shared 'seed=range(5)' run_name=experts-ciphers-one-family $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts_ciphers experts.arm=dense,token,token+shared,token+dynamic,token+static,sentence,dense+dynamic,dense+static 'seed=range(3)' run_name=experts-ciphers-arms threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=experts_ciphers data.surfaces=disjoint experts.arm=dense_wide,token,token+shared 'seed=range(5)' run_name=experts-ciphers-disjoint $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms run_name=forms-main threads=1 $(ARGS)
	$(BIN)/python -m pipeline recipe=forms forms.stage=segmentation data=composed_forms data.forms=2000 fit.epochs=8 run_name=forms-precision threads=1 $(ARGS)
	$(BIN)/python -m pipeline recipe=forms forms.stage=recognition data=dhsd recognition.batch=4 recognition.learning_rate=0.002 recognition.epochs=24 run_name=forms-names threads=1 $(ARGS)
	$(BIN)/python -m pipeline recipe=forms forms.stage=recognition data=dhsd data.writers=disjoint forms.augment=shape recognition.epochs=20 recognition.batch=16 run_name=forms-names-disjoint threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_attention data=dhsd_parts forms.augment=none recognition.epochs=10 run_name=forms-attention threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_losses data=dhsd_parts forms.augment=none recogniser.normalise=characters recogniser.ctc_share=0,1,0.5 recognition.epochs=10 run_name=forms-losses threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_ablation seed=0 recognition.epochs=10 run_name=forms-ablation threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_pipeline seed=0 recognition.epochs=10 reader=convolve_attend_spell,two_phase detector=r_fcn,pixel_link recogniser=ctc_seq2seq,word,moran run_name=forms-pipeline threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_order seed=0 data.forms=300 data.height=192 data.width=256 data.most_boxes=20 fit.epochs=6 run_name=forms-order threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_segmentation seed=0 fit.epochs=6 run_name=forms-segmentation threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_recognition_words data=dhsd_parts forms.augment=none seed=0,1,2 recognition.epochs=10 run_name=forms-recognition-words threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=forms_augmentation data=dhsd_parts recogniser=crnn_best_path seed=0,1,2 recognition.epochs=10 run_name=forms-augmentation threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents run_name=documents-main $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_entities 'hydra.sweeper.params.reader="text_sliding_window,boxes_distance_window,boxes_sliding_window,text_full_512,boxes_full_512,boxes_distance,boxes_literal,text_window_random,boxes_window_random"' hydra.sweeper.params.seed=0 encoder.layers=2 run_name=documents-entities threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_funsd 'hydra.sweeper.params.reader="text_sliding_window,boxes_distance_window,text_full_512,boxes_full_512,boxes_sliding_window,text_window_random,boxes_window_random,boxes_distance"' pretrain.steps=0 encoder.layers=2 'seed=range(3)' run_name=documents-funsd threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_funsd hydra.sweeper.params.reader=text_sliding_window pretrain.steps=0,600 encoder.layers=2 'seed=range(3)' run_name=documents-funsd-hidden threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_pretrain seed=0 encoder.layers=2 reader=boxes_sliding_window,boxes_distance,boxes_distance_window,boxes_window_random,boxes_full_512,boxes_literal threads=1 run_name=documents-pretrain $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_max_length encoder.layers=2 attention=distance_window documents.max_length=512,4096 seed=0,1,2 documents.baselines=false threads=1 run_name=documents-max-length $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_noise encoder.layers=2 attention=distance,distance_approximate documents.jitter=0 documents.shuffle=false seed=0,1,2 documents.baselines=false threads=1 run_name=documents-noise $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_classes reader=boxes_distance_window,boxes_full_512,text_full_512,boxes_sliding_window seed=0,1,2 encoder.layers=2 pretrain.steps=0 finetune.epochs=6 'finetune.max_tokens=$${documents.max_length}' threads=1 run_name=documents-classes $(ARGS)
	$(BIN)/python -m pipeline +experiment=documents_cue 'seed=range(3)' run_name=documents-cue threads=1 $(ARGS)
	for name in lengths masks cost; do $(BIN)/python -m pipeline +experiment=documents_$$name run_name=documents-$$name threads=1 $(ARGS); done
	$(BIN)/python -m pipeline +experiment=ssgp run_name=ssgp-abalone threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=ssgp data.sex=false 'seed=range(5)' contender=ssgp/iid,revisited/iid,revisited/orthogonal,pca/iid,vae_ridge,ridge run_name=ssgp-abalone-seven threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=ssgp data=gas_turbine 'seed=range(7)' gpytorch.points=1000 gpytorch.batch_size=1024 run_name=ssgp-gas-turbine threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=ssgp data=precipitation 'seed=range(7)' gpytorch.points=1000 gpytorch.batch_size=1024 run_name=ssgp-precipitation threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=ssgp data=precipitation data.points=33000 contender=ssgp/iid,rff/iid features.count=64 'seed=range(7)' run_name=ssgp-precipitation-30000 threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=ssgp data=precipitation contender=full_gp gpytorch.points=3000 'seed=range(2)' run_name=ssgp-precipitation-full threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=ssgp_stream run_name=ssgp-stream threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=theory run_name=theory threads=1 $(ARGS)
	$(BIN)/python -m pipeline +experiment=theory run_name=theory_laplacian threads=1 'theory.kernels=[laplacian]' 'theory.samplers=[iid,orthogonal]' 'theory.baselines=[iid]' 'theory.dimensions=[8,32]' 'theory.data=[]' 'theory.counts=[256]' $(ARGS)
	$(BIN)/python -m pipeline +experiment=theory_large run_name=theory_large threads=1 $(ARGS)
	$(call trace_page,synthetic,trace,timing.trials=0,$(FAILURES))
	$(call trace_page,roget,trace_roget,data.source=published timing.trials=0,$(FAILURES))
	$(call trace_page,roget-rademacher,trace_roget,data.source=published timing.trials=0 estimate.distribution=rademacher,$(FAILURES))
	$(call trace_page,precipitation,trace_precipitation,data.source=published timing.trials=0,$(FAILURES))
	$(call trace_page,precipitation-flat,trace_precipitation,data.source=published data.seed=11 timing.trials=0,$(FAILURES))
	$(call trace_page,precipitation-rademacher,trace_precipitation,data.source=published timing.trials=0 estimate.distribution=rademacher,$(FAILURES))
	$(call trace_page,smoother,trace_smoother,data.source=published timing.trials=0,$(FAILURES))
	$(call trace_page,hessian,trace_hessian,,$(FAILURES))
	$(call trace_page,condmat,trace_condmat,data.source=published estimate.runs=10 timing.trials=0,$(FAILURES))
	$(call trace_page,synthetic,trace,$(TIMED),seconds.csv,-timed)
	$(call trace_page,roget,trace_roget,data.source=published $(TIMED),seconds.csv,-timed)
	$(call trace_page,precipitation,trace_precipitation,data.source=published data.seed=1 $(TIMED),seconds.csv,-timed)
	$(call trace_page,condmat,trace_condmat,data.source=published $(TIMED),seconds.csv,-timed)
	for name in figure3-paper figure3-bayes figure3-bayes-handwriting figure3-moving-mnist-paper figure3-moving-mnist-bayes figure4-paper figure4-paper-handwriting figure4-bayes figure4-bayes-handwriting figure4-moving-mnist-paper figure4-moving-mnist-bayes stability ahead-mocap ahead-swimmer ahead-handwriting ahead-mocap-second ahead-swimmer-second ahead-handwriting-second ahead-moving_mnist ahead-lorenz96 ahead-ecg ahead-hopper effort-mocap effort-swimmer effort-handwriting effort-mocap-second effort-handwriting-second state-adds state-best-readout state-best-readout-second state-best-readout-mocap-second one-readout state-alone state-alone-second seconds-mocap figure3-projected-mocap figure4-projected-mocap ensembles-mocap seconds-swimmer figure3-projected-swimmer figure4-projected-swimmer ensembles-swimmer seconds-handwriting figure3-projected-handwriting figure4-projected-handwriting ensembles-handwriting ett ett-seeds mctn mctn-synthetic mctn-missing mctn-missing-mosi mctn-bimodal mctn-trimodal mctn-mmmo mctn-mmmo-text mctn-authors mctn-settings mctn-weights mctn-feedback experts experts-main experts-captions experts-two-cores experts-all experts-ciphers experts-ciphers-arms experts-ciphers-one-family experts-ciphers-disjoint experts-fewshot experts-fewshot-256 experts-routing forms-main forms-precision forms-names forms-names-disjoint forms-attention forms-losses forms-ablation forms-pipeline forms-order forms-segmentation forms-recognition-words forms-augmentation documents-main documents-entities documents-funsd documents-funsd-hidden documents-max-length documents-noise documents-classes documents-pretrain documents-cue documents-lengths documents-masks documents-cost ssgp-abalone ssgp-abalone-seven ssgp-gas-turbine ssgp-precipitation ssgp-precipitation-30000 ssgp-precipitation-full ssgp-stream theory theory_laplacian theory_large; do \
		$(BIN)/python -m pipeline.export $$name docs/results; done

docs: $(DOCS_INSTALLED)  ## build the documentation site into site/; a broken link is an error
	PYTHONPATH=docs/extensions $(BIN)/python -m zensical build --strict --clean
	@echo "open file://$(CURDIR)/site/index.html"
	@echo "to search in it too: $(BIN)/python -m http.server -d site 8000, then http://127.0.0.1:8000"

numbers: $(INSTALLED)  ## write the numbers of docs/results into the pages that refer to them
	$(BIN)/python docs/extensions/numbers_from_files.py

notebooks: $(INSTALLED)  ## run the notebooks and write their pages into docs/notebooks/
	$(BIN)/python examples/render_notebooks.py $(ARGS)

ui: $(INSTALLED)  ## open the MLflow UI on the store that the runs went to; PORT=5001 for another port
	@uri="$${MLFLOW_TRACKING_URI:-$$($(BIN)/python -m pipeline.relocate)}"; \
	shown="$$(printf %s "$$uri" | sed 's|//.*@|//|')"; \
	case "$$uri" in \
		http*) echo "MLFLOW_TRACKING_URI is set: open $$shown in a browser" ;; \
		*) echo "$$shown"; export MLFLOW_BACKEND_STORE_URI="$$uri"; exec $(BIN)/mlflow ui --host 127.0.0.1 --port $(PORT) ;; \
	esac

clean:  ## remove .venv, builds and caches; runs in mlruns/ are kept
	rm -rf .venv build dist site .cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find benchmarks conf docs examples src tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@command -v '$(PYTHON)' > /dev/null || { echo 'error: $(PYTHON) is not found; name a Python 3.11 or newer: make PYTHON=/path/to/python' >&2; exit 1; }
	@'$(PYTHON)' -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "error: $(PYTHON) is Python %d.%d; name a Python 3.11 or newer: make PYTHON=/path/to/python" % sys.version_info[:2])'
	@echo 'setting up .venv, once; it takes some minutes'
	@'$(PYTHON)' -m venv .venv
	@{ $(PIP_INSTALL) --upgrade pip && $(PIP_INSTALL) -e '.[dev]'; } > .venv/pip.log 2>&1 || { cat .venv/pip.log >&2; exit 1; }
	@echo '.venv is set up; what pip said is in .venv/pip.log'
	@touch $@

# one after the other: pip cannot install two things at once
$(DOCS_INSTALLED): $(INSTALLED)
$(TYPES_INSTALLED): $(DOCS_INSTALLED)
$(DOCS_INSTALLED): FOR := what builds the documentation
$(TYPES_INSTALLED): FOR := the type checker
$(DOCS_INSTALLED) $(TYPES_INSTALLED): .venv/.%_installed:
	@echo 'installing $(FOR), once'
	@$(PIP_INSTALL) -e '.[$*]' > .venv/pip.log 2>&1 || { cat .venv/pip.log >&2; exit 1; }
	@touch $@

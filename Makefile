# Two commands are all a newcomer needs: `make run` and `make test`.
.PHONY: run test check soak bench mutations

run:
	@scripts/prepare-venv run
	@./crewlet up

test:
	@scripts/prepare-venv dev
	@scripts/ensure-chromium
	@scripts/run-tests

check:
	@scripts/prepare-venv dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy .
	.venv/bin/lint-imports
	.venv/bin/python manage.py check
	DJANGO_SETTINGS_MODULE=tests.settings .venv/bin/python manage.py makemigrations --check --dry-run

soak:
	@scripts/prepare-venv dev
	.venv/bin/python -m pytest -m soak

bench:
	@scripts/prepare-venv dev
	@for script in bench/[a-z]*.py; do \
		name="$$(basename "$$script" .py)"; \
		echo "== bench.$$name"; .venv/bin/python -m "bench.$$name" || exit 1; \
	done

mutations:
	@scripts/prepare-venv dev
	.venv/bin/python -m tests.mutations

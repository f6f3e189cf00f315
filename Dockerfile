# The lab on a CPU, as a user without rights.
#   docker build -t forget-me-not --build-arg TORCH_INDEX=URL .     URL: the index of CPU builds that pytorch.org names; else GBs of GPU libraries
#   docker run -p 7860:7860 forget-me-not                           add --read-only to only play the records made below
FROM python:3.11-slim
ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1 FORGET_ME_NOT_HOME=/home/lab/data
RUN useradd --create-home --uid 1000 lab && mkdir -p /home/lab/data && chown lab /home/lab/data
ARG TORCH_INDEX=
RUN pip install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch torchvision
COPY --chown=lab . /home/lab/app
RUN pip install /home/lab/app
USER lab
WORKDIR /home/lab
RUN forget-me-not record
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s CMD python -c "import urllib.request as u; u.urlopen('http://127.0.0.1:7860/status', timeout=4)"
ENTRYPOINT ["forget-me-not", "lab", "--host", "0.0.0.0", "--no-browser"]

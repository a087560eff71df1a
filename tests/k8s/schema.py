# SPDX-License-Identifier: MIT
"""Checks manifests against the Kubernetes API.

    schema.py FILE.yaml...              silent, or a line for each fault
    schema.py FILE.yaml --env KIND      the environment of its KIND's container

The models of Debian's python3-kubernetes are generated from the OpenAPI schema
of Kubernetes: of each object they know the fields, their types, and which must
be there. Their own deserialiser passes over fields that it does not know; here
they are faults, as they are for an API server that validates strictly.
"""
import re
import sys

import yaml
from kubernetes.client import models

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def faults_of(value, kind, where):
    """Yields what is wrong with a value that should be of this kind."""
    container = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.*)[\])]", kind)
    if kind in ("object", "datetime"):
        return
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (
                kind == "int" and isinstance(value, bool)):
            yield f"{where}: {value!r} is no {kind}"
    elif container and container[1] == "list":
        if not isinstance(value, list):
            yield f"{where}: no list"
            return
        for i, item in enumerate(value):
            yield from faults_of(item, container[2], f"{where}[{i}]")
    elif container:
        if not isinstance(value, dict):
            yield f"{where}: no map"
            return
        for key, item in value.items():
            yield from faults_of(item, container[2], f"{where}.{key}")
    else:
        yield from faults_of_object(value, getattr(models, kind), where)


def faults_of_object(value, model, where):
    if not isinstance(value, dict):
        yield f"{where}: no {model.__name__}"
        return
    names = {json: name for name, json in model.attribute_map.items()}
    for key, item in value.items():
        if key not in names:
            yield f"{where}: {model.__name__} has no field {key}"
        else:
            yield from faults_of(item, model.openapi_types[names[key]],
                                 f"{where}.{key}")
    try:  # the constructor knows what must be there
        model(**{names[key]: item for key, item in value.items()
                 if key in names})
    except ValueError as fault:
        yield f"{where}: {fault}"


def model_of(document):
    version = document.get("apiVersion", "").rpartition("/")[2]
    return getattr(models, version.capitalize() + document.get("kind", ""), None)


def documents_of(path):
    with open(path, encoding="utf-8") as file:
        return [d for d in yaml.safe_load_all(file) if d]


def faults_of_file(path):
    for i, document in enumerate(documents_of(path)):
        model = model_of(document)
        where = f"{path}: {document.get('kind', i)}"
        if model is None:
            yield f"{where}: no such kind in {document.get('apiVersion')}"
        else:
            yield from faults_of_object(document, model, where)


def environment_of(path, kind):
    """As a pod's container gets it, "NAME=VALUE" each."""
    documents = documents_of(path)
    maps = {d["metadata"]["name"]: d["data"] for d in documents
            if d["kind"] == "ConfigMap"}
    job = next(d for d in documents if d["kind"] == kind)
    container = job["spec"]["template"]["spec"]["containers"][0]
    for source in container.get("envFrom", []):
        yield from maps[source["configMapRef"]["name"]].items()
    for variable in container.get("env", []):
        yield variable["name"], variable["value"]


def main(arguments):
    if "--env" in arguments:
        for name, value in environment_of(arguments[0], arguments[2]):
            print(f"{name}={value}")
        return 0
    faults = [fault for path in arguments for fault in faults_of_file(path)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


sys.exit(main(sys.argv[1:]))

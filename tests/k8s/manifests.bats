#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# The manifests of labs/cluster/kubernetes: valid by the schema of Kubernetes,
# and the environment that they give to a pod is correct.

setup_file() {
    bats_require_minimum_version 1.5.0
    BUILD=$(realpath "${B:-build}")
    MANIFESTS=$(realpath labs/cluster/kubernetes)
    SCHEMA=$(realpath tests/k8s/schema.py)
    export BUILD MANIFESTS SCHEMA
    /usr/bin/python3 -c 'import kubernetes.client' 2>/dev/null ||
        touch "$BATS_FILE_TMPDIR/missing"
    for name in $(compgen -e | grep -E '^(GW|PMI|PMIX|OMPI|SLURM|MASTER)_'); do
        unset "$name"
    done
}

setup() {
    [ ! -e "$BATS_FILE_TMPDIR/missing" ] ||
        skip "python3-kubernetes, which has the schema, is not installed"
    cd "$BATS_TEST_TMPDIR" || return 1
}

schema() {
    /usr/bin/python3 "$SCHEMA" "$@"
}

@test "all manifests are right by the schema" {
    schema "$MANIFESTS"/*.yaml
}

@test "what the schema does not know, or misses, is found" {
    sed 's/completionMode:/completionMood:/' "$MANIFESTS/ranks.yaml" >mood.yaml
    run -1 schema mood.yaml
    [[ $output = *'V1JobSpec has no field completionMood'* ]]
    sed 's/completions: 4/completions: "4"/' "$MANIFESTS/ranks.yaml" >type.yaml
    run -1 schema type.yaml
    [[ $output = *"spec.completions: '4' is no int"* ]]
    sed '/serviceName:/d' "$MANIFESTS/servers.yaml" >missing.yaml
    run -1 schema missing.yaml
    [[ $output = *'service_name'*'must not be'* ]]
    sed 's/kind: Job/kind: Jobs/' "$MANIFESTS/ranks.yaml" >kind.yaml
    run -1 schema kind.yaml
    [[ $output = *'no such kind'* ]]
}

@test "the ranks of the Indexed Job meet at pod 0" {
    schema "$MANIFESTS/ranks.yaml" --env Job >environment
    mapfile -t variables <environment
    env "${variables[@]}" JOB_COMPLETION_INDEX=0 HOSTNAME=gradwire-ranks-0 \
        "$BUILD/collrun" exec --explain-env -o csv >place.csv
    cat place.csv
    grep -q '^rank,0,Kubernetes,JOB_COMPLETION_INDEX' place.csv
    grep -q '^size,4,' place.csv
    grep -Eq '^rendezvous,tcp://gradwire-ranks-0\.gradwire-ranks:[0-9]+,' \
        place.csv
}

@test "servers and workers get the addresses of the controllers" {
    schema "$MANIFESTS/servers.yaml" --env StatefulSet >environment
    cat environment
    grep -Eqx 'GW_CONTROLLERS=(tcp://gradwire-controller-[012]\.gradwire-controllers:7100,?){3}' \
        environment
    # These names do not resolve here, which is the reported error.
    mapfile -t variables <environment
    "$BUILD/ringctl" keygen key
    run -69 env "${variables[@]}" GRADWIRE_KEY=key "$BUILD/psnode" server
    [[ $output = *'controller 0: gradwire-controller-0.gradwire-controllers: '* ]]
}

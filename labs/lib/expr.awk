# SPDX-License-Identifier: MIT
#
# Formulas of the labs: evaluate("2*(P-1)/P*S") is a number.
#
# A formula has numbers (with K, M, G for powers of 1024), names, + - * / % ^,
# brackets, and the functions ceil, floor, log2, min and max. A name is a
# parameter of lab.conf or a measurement; it is looked up in value[], which load()
# fills from lines "NAME VALUE". Afterwards `fault` has the mistake of a formula,
# and `missing` the name without a value, if that is the mistake.
#
# Recursive descent: each function takes its part away from the front of `rest`.

function load(file,    line, name) {
    while ((getline line <file) > 0) {
        name = line
        sub(/ .*/, "", name)
        sub(/^[^ ]* ?/, "", line)
        value[name] = line
    }
    close(file)
}

# The value of a number such as "1.5M", which is 1572864. Otherwise 0 and a fault.
function number(text,    unit) {
    if (text !~ /^-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?[KMG]?$/) {
        fault = "\"" text "\" is not a number"
        return 0
    }
    unit = index("KMG", substr(text, length(text)))
    if (unit)
        text = substr(text, 1, length(text) - 1)
    return text * 1024 ^ unit
}

function evaluate(text,    result) {
    rest = text
    fault = missing = ""
    result = sum()
    gsub(/^[ \t]+/, "", rest)
    if (rest != "" && fault == "")
        fault = "unexpected \"" rest "\" after the formula"
    if (fault == "" && !(result > -1e300 && result < 1e300))
        fault = "the result is not a number"
    return fault == "" ? result : 0
}

# If `rest` begins with the pattern, removes that from it and sets `taken`.
function take(pattern) {
    sub(/^[ \t]+/, "", rest)
    if (fault != "" || !match(rest, "^(" pattern ")"))
        return 0
    taken = substr(rest, 1, RLENGTH)
    rest = substr(rest, RLENGTH + 1)
    return 1
}

function sum(    result) {
    result = product()
    while (take("[-+]"))
        result = taken == "+" ? result + product() : result - product()
    return result
}

function product(    result, sign, by) {
    result = power()
    while (take("[*/%]")) {
        sign = taken
        by = power()
        if (sign != "*" && by == 0) {
            if (fault == "")
                fault = "division by 0"
            return 0
        }
        if (sign == "*")
            result *= by
        else if (sign == "/")
            result /= by
        else
            result -= by * floor(result / by)
    }
    return result
}

function power(    base) {
    if (take("-"))
        return -power()
    base = atom()
    return take("\\^") ? base ^ power() : base
}

function atom(    name, result) {
    if (take("[0-9]*[.]?[0-9]+([eE][-+]?[0-9]+)?[KMG]?"))
        return number(taken)
    if (take("[(]")) {
        result = sum()
        if (!take("[)]") && fault == "")
            fault = "\")\" is missing"
        return result
    }
    if (!take("[A-Za-z_][A-Za-z0-9_.]*")) {
        if (fault == "")
            fault = rest == "" ? "something is missing at the end" : \
                "\"" rest "\" is not a formula"
        return 0
    }
    name = taken
    if (take("[(]"))
        return call(name)
    if (!(name in value)) {
        fault = "unknown name " name
        missing = name
        return 0
    }
    return number(value[name])
}

function call(name,    first, second) {
    first = sum()
    if (take(","))
        second = sum()
    if (!take("[)]") && fault == "")
        fault = "\")\" is missing"
    if (name == "ceil")
        return -floor(-first)
    if (name == "floor")
        return floor(first)
    if (name == "log2")
        return first > 0 ? log(first) / log(2) : 0
    if (name == "min")
        return first < second ? first : second
    if (name == "max")
        return first > second ? first : second
    fault = "unknown function " name "()"
    return 0
}

# Rounds numbers within 1e-9 of a whole number to that number first.
function floor(x,    near, whole) {
    near = x < 0 ? int(x - 0.5) : int(x + 0.5)
    if (x - near < 1e-9 && near - x < 1e-9)
        return near
    whole = int(x)
    return whole > x ? whole - 1 : whole
}

# A number as text, without an exponent if possible.
function shown(x) {
    if (x == int(x) && x < 1e15 && x > -1e15)
        return sprintf("%.0f", x)
    return sprintf("%.6g", x)
}

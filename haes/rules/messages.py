"""What people are told about rules that were left out: one text for each code; knows no check."""

from haes.rules.checks import Finding

_TEXTS = {
    "resource_used_twice": "resource '{resource}' is already used in another node affinity rule",
    "too_few_resources": "rule is ineffective as there are less than two resources",
    "too_few_nodes": "rule defines more resources than available nodes",
    "shares_with_negative": "rule shares two or more resources with a negative resource affinity rule",
    "shares_with_positive": "rule shares two or more resources with a positive resource affinity rule",
    "several_priorities": "resources are in a resource affinity rule and cannot be in"
    " a node affinity rule with multiple priorities",
    "in_rules_with_several_priorities": "resources are in node affinity rules with multiple priorities",
    "in_several_node_rules": "resources are in multiple node affinity rules",
    "bundle_in_other_node_rule": "at least one resource is in a positive resource affinity"
    " rule and there are other resources in at least one other node affinity rule already",
    "restricted_to_too_few": "two or more resources are restricted to less nodes than available to the resources",
    "restricts_to_too_few": "at least one resource is in a negative resource affinity"
    " rule and this rule would restrict these to less nodes than available to the resources",
}


def reason(finding: Finding) -> str:
    """Returns why a rule cannot hold, to be put behind a 'because'."""
    return _TEXTS[finding.code].format_map(finding.details)


def drop_message(finding: Finding) -> str:
    """Returns the message about one finding."""
    return f"Drop rule '{finding.rule}', because {reason(finding)}."

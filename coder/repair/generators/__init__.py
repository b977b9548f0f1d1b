"""Repair templates by family name: pure functions from a node to ways of changing the file."""

from coder.repair.context.site import Template
from coder.repair.generators.calls.arguments import argument_missing, argument_order, clamped, neighbour
from coder.repair.generators.calls.decorators import decorated, undecorated
from coder.repair.generators.calls.in_place import in_place
from coder.repair.generators.calls.missing_calls import uncalled
from coder.repair.generators.calls.options import option
from coder.repair.generators.calls.parentheses import calling
from coder.repair.generators.calls.signatures import argument_added, mutable_default, signature
from coder.repair.generators.calls.wrapping import converted_elsewhere, unwrapped, wrapped
from coder.repair.generators.control_flow.branches import branch, branch_order, target
from coder.repair.generators.control_flow.constant_conditions import unconditional
from coder.repair.generators.control_flow.exceptions import exception_type
from coder.repair.generators.control_flow.guards import (
    condition,
    default_value,
    dropped_guard,
    inserted_guard,
)
from coder.repair.generators.control_flow.iterables import iterated
from coder.repair.generators.control_flow.keywords import awaiting, super_call, yielding
from coder.repair.generators.control_flow.loops import advanced, kept
from coder.repair.generators.control_flow.raising import converted, raising
from coder.repair.generators.control_flow.recursion import base_case
from coder.repair.generators.expressions.boundary import boundary
from coder.repair.generators.expressions.comprehensions import sifted
from coder.repair.generators.expressions.constants import constant, initial
from coder.repair.generators.expressions.flags import flag
from coder.repair.generators.expressions.grouping import grouping
from coder.repair.generators.expressions.indices import element, index_order
from coder.repair.generators.expressions.literals import asserted_number, named_value
from coder.repair.generators.expressions.modular import wraparound
from coder.repair.generators.expressions.negation import negation
from coder.repair.generators.expressions.operators import arithmetic, boolean, comparison
from coder.repair.generators.expressions.similar import other_condition, similar
from coder.repair.generators.expressions.slices import lookup, slice_missing, slicing, unpacked
from coder.repair.generators.names.closures import bound_late, outer_name
from coder.repair.generators.names.demanded import demanded
from coder.repair.generators.names.foreign_methods import vocabulary
from coder.repair.generators.names.standard_library import moved
from coder.repair.generators.names.suggestions import (
    undefined_name,
    unknown_attribute,
    unknown_import,
    unknown_key,
)
from coder.repair.generators.names.variables import (
    against_itself,
    attribute,
    key,
    own_class,
    quoting,
    variable,
)
from coder.repair.generators.statements.accumulation import step
from coder.repair.generators.statements.assignment import given_by_sibling, given_elsewhere, kept_best
from coder.repair.generators.statements.copying import copied
from coder.repair.generators.statements.insertion import inserted
from coder.repair.generators.statements.order import (
    begun_again,
    deletion,
    enclosed,
    exchanged,
    indentation,
    statement_order,
)
from coder.repair.generators.statements.returns import missing_return, returned_value
from coder.repair.generators.statements.shared_state import shared
from coder.repair.generators.text.formats import opening, placeholder
from coder.repair.generators.text.patterns import pattern
from coder.repair.generators.text.strings import filled, separated, string
from coder.repair.generators.types.collection_members import enlisted
from coder.repair.generators.types.dataclass_fields import factory
from coder.repair.generators.types.isinstance_types import kind
from coder.repair.generators.types.type_errors import meant_as

TEMPLATES: dict[str, Template] = {
    template.__name__: template
    for template in (
        arithmetic,
        comparison,
        boolean,
        negation,
        boundary,
        constant,
        initial,
        variable,
        own_class,
        attribute,
        key,
        neighbour,
        argument_order,
        argument_missing,
        slicing,
        slice_missing,
        unpacked,
        lookup,
        missing_return,
        returned_value,
        inserted_guard,
        default_value,
        condition,
        dropped_guard,
        undefined_name,
        unknown_attribute,
        unknown_key,
        unknown_import,
        awaiting,
        yielding,
        super_call,
        statement_order,
        indentation,
        deletion,
        string,
        filled,
        exception_type,
        branch,
        target,
        wrapped,
        unwrapped,
        inserted,
        copied,
        uncalled,
        other_condition,
        similar,
        argument_added,
        signature,
        mutable_default,
        placeholder,
        opening,
        index_order,
        element,
        named_value,
        asserted_number,
        unconditional,
        given_elsewhere,
        given_by_sibling,
        kept_best,
        wraparound,
        option,
        grouping,
        step,
        raising,
        converted,
        pattern,
        converted_elsewhere,
        kind,
        flag,
        enlisted,
        enclosed,
        decorated,
        undecorated,
        quoting,
        calling,
        branch_order,
        bound_late,
        outer_name,
        sifted,
        in_place,
        iterated,
        shared,
        separated,
        vocabulary,
        meant_as,
        begun_again,
        kept,
        advanced,
        exchanged,
        against_itself,
        clamped,
        base_case,
        moved,
        factory,
        demanded,
    )
}

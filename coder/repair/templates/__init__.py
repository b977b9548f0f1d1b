"""The fix templates, by the name of their family: pure functions from a place in a file to ways of changing it."""

from coder.repair.site import Template
from coder.repair.templates.accumulating import step
from coder.repair.templates.assigned import given_by_sibling, given_elsewhere, kept_best
from coder.repair.templates.boundary import boundary
from coder.repair.templates.branches import branch, branch_order, target
from coder.repair.templates.calling import calling
from coder.repair.templates.calls import argument_missing, argument_order, clamped, neighbour
from coder.repair.templates.closures import bound_late, outer_name
from coder.repair.templates.comprehensions import sifted
from coder.repair.templates.conditions import unconditional
from coder.repair.templates.constants import constant, initial
from coder.repair.templates.copying import copied
from coder.repair.templates.decorators import decorated, undecorated
from coder.repair.templates.demanded import demanded
from coder.repair.templates.enlisting import enlisted
from coder.repair.templates.exceptions import exception_type
from coder.repair.templates.fields import factory
from coder.repair.templates.flags import flag
from coder.repair.templates.formats import opening, placeholder
from coder.repair.templates.grouping import grouping
from coder.repair.templates.guards import condition, default_value, dropped_guard, inserted_guard
from coder.repair.templates.in_place import in_place
from coder.repair.templates.indices import element, index_order
from coder.repair.templates.insertion import inserted
from coder.repair.templates.iterables import iterated
from coder.repair.templates.keywords import awaiting, super_call, yielding
from coder.repair.templates.kinds import kind
from coder.repair.templates.literals import asserted_number, named_value
from coder.repair.templates.looping import advanced, kept
from coder.repair.templates.modular import wraparound
from coder.repair.templates.moved import moved
from coder.repair.templates.names import against_itself, attribute, key, own_class, quoting, variable
from coder.repair.templates.negation import negation
from coder.repair.templates.operators import arithmetic, boolean, comparison
from coder.repair.templates.options import option
from coder.repair.templates.order import begun_again, deletion, enclosed, exchanged, indentation, statement_order
from coder.repair.templates.patterns import pattern
from coder.repair.templates.raising import converted, raising
from coder.repair.templates.recursion import base_case
from coder.repair.templates.returns import missing_return, returned_value
from coder.repair.templates.sharing import shared
from coder.repair.templates.signatures import argument_added, mutable_default, signature
from coder.repair.templates.similar import other_condition, similar
from coder.repair.templates.slices import lookup, slice_missing, slicing, unpacked
from coder.repair.templates.strings import filled, separated, string
from coder.repair.templates.suggestions import undefined_name, unknown_attribute, unknown_import, unknown_key
from coder.repair.templates.told import meant_as
from coder.repair.templates.uncalled import uncalled
from coder.repair.templates.vocabulary import vocabulary
from coder.repair.templates.wrapping import converted_elsewhere, unwrapped, wrapped

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

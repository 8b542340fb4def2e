"""A skill whose author says when to use it and when not, in the description, in `when_to_use` and in the body.

Fifty messages: it comes up, or is offered, for those that are for it and for no other.
"""

from __future__ import annotations

from routing.shelf import SHELF, router
from whet.routing.texts import Texts

INVOICES = Texts(
    "invoice-extraction",
    "Extracts the supplier, the dates, the line items, the tax and the total from invoices and receipts, as PDF or as "
    'a photo, into a spreadsheet or JSON. Use when the user says "read this invoice", "what do we owe", "book this '
    'receipt", or has bills, receipts or credit notes to be entered into accounting. Do NOT use for writing or sending '
    "invoices to customers (use billing), for contracts (use contract-review), or for bank statements.",
    """# Invoices

Find the invoice number, the supplier, the due date, the currency and every line item. Check that the line items add up
to the total, and the tax to its rate.

## When to use

- A folder of receipts for an expense report
- A supplier's bill that came by email
- Credit notes and reminders

## When not to use

- Creating an invoice for a customer
- Payslips, tax returns and bank statements
- Contracts, quotes and purchase orders

**Do not use this skill** to pay anything or to remind customers.
""",
    when_to_use="Scanned receipts, supplier invoices, bills, credit notes, expense reports. Not for payroll, quotes or "
    "purchase orders.",
)
BESIDE = (
    Texts("billing", "Writes and sends invoices to customers and reminds those who do not pay.", "Number them."),
    Texts("contract-review", "Reviews contracts and agreements for risky clauses.", "Look for liability."),
)
FOR_IT = (
    "extract the line items from this invoice",
    "read this invoice and give me the total with tax",
    "turn these receipts into a spreadsheet",
    "what do we owe according to this supplier bill",
    "book this receipt",
    "get the supplier, date and amount out of these scanned invoices",
    "I have forty receipts as photos, make an expense report",
    "pull the invoice number and due date from each pdf invoice",
    "convert the attached bill into JSON",
    "enter these supplier invoices into accounting",
    "check whether the tax on this invoice adds up",
    "which of these bills are due this month? list supplier and total",
    "extract totals from the credit notes in this folder",
    "make a csv of all receipts from my trip",
    "scan these receipts for my expense report",
    "what is the total of these invoices",
    "list all line items of the invoice with their prices",
    "the supplier sent a bill by email, put it into our books",
    "read the receipts and group the expenses by supplier",
    "get the tax amount from every receipt in the folder",
    "here is a photo of a receipt, what did I pay",
    "parse the invoices in invoices/ into a table with date, supplier, total",
    "I need the due dates of these supplier invoices",
    "extract the data from this credit note",
    "summarize the invoices from our suppliers by currency",
)
NOT_FOR_IT = (
    "write an invoice for our customer Miller",
    "send the invoice to the customer by email",
    "remind customers who have not paid",
    "create a new invoice number series",
    "review this contract for risky clauses",
    "summarise the purchase agreement",
    "analyse the bank statement of March",
    "prepare my tax return",
    "calculate the payroll for June",
    "draft a quote for a new customer",
    "create a purchase order for ten laptops",
    "what is the exchange rate of the euro today",
    "thanks, that is all",
    "rename this variable",
    "why does this unit test fail",
    "squash the commits of my branch",
    "write minutes of this meeting",
    "make a chart of monthly signups",
    "translate this paragraph into German",
    "explain how VAT works in Germany",
    "commit this",
    "tune the slow query of the report",
    "how old is the universe?",
    "extract this function into its own module",
    "read this file and tell me what the class does",
)


def test_a_good_description_is_worth_its_words() -> None:
    known = router((INVOICES, *BESIDE, *SHELF))
    mine = INVOICES.name
    assert (len(FOR_IT), len(NOT_FOR_IT)) == (25, 25)
    found = {message: known.detect(message) for message in (*FOR_IT, *NOT_FOR_IT)}
    right = [message for message in FOR_IT if found[message].key == mine]
    wrong = [message for message in NOT_FOR_IT if found[message].key == mine]
    recall, precision = len(right) / len(FOR_IT), len(right) / (len(right) + len(wrong))
    assert recall >= 0.9, sorted({*FOR_IT} - {*right})
    assert precision >= 0.9, wrong
    must = [message for message, one in found.items() if one.key == mine and one.decision == "must"]
    assert len({*must} & {*FOR_IT}) >= 0.6 * len(FOR_IT)
    assert len({*must} & {*NOT_FOR_IT}) <= 0.1 * len(must)

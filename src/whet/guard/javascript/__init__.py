"""Analysis of JavaScript and TypeScript by their grammar: values are followed and data flows are reported."""

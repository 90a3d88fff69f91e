"""The web page: a form and its answer, prices, providers, saved plans and reports; server-rendered, no script needed."""

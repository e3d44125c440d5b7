// Shows the description of this server; a script of its own, since the policy allows none inline.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
});

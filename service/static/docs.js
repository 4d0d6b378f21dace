// Starts the documentation page. The validator is switched off: it would send the schema to another host.
const schema = document.currentScript.dataset.schema;
window.addEventListener("load", () => {
  window.ui = SwaggerUIBundle({
    url: schema,
    dom_id: "#documentation",
    deepLinking: true,
    displayRequestDuration: true,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis],
    layout: "BaseLayout",
  });
});

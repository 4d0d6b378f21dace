// Rate a translator: node examples/rate.mjs http://127.0.0.1:8000 http://127.0.0.1:5000/faithful
import { Client } from "assay-client";

const [agencyUrl, serviceUrl] = process.argv.slice(2);
const agency = new Client(agencyUrl, process.env.ASSAY_KEY ? { key: process.env.ASSAY_KEY } : {});
const rating = await agency.rate({
  target: { name: "my translator", kind: "translator", protocol: "libretranslate", base_url: serviceUrl },
  experiment: { method: "round-trip", attribute: "gender" },
});
console.log(rating.letter, rating.declared);
console.log(rating.because?.text ?? rating.in_words?.[0]);

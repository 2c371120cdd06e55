import { render } from "preact";
import { App } from "./app";
import { begin } from "./api/session";
import { apply } from "./parts/theme";
import { Failure } from "./parts/basics";
import "./style/console.css";

apply();
const root = document.getElementById("console")!;
begin().then(() => render(<App />, root), error => render(<main class="page"><Failure error={error} /></main>, root));

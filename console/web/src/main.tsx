import { render } from "preact";
import "uplot/dist/uPlot.min.css";
render(<p>console</p>, document.getElementById("console")!);

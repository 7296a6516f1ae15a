// The one door to Preact: components write html`...`, which makes text nodes of all values.
import htm from "htm";
import { h } from "preact";

export { Fragment, render } from "preact";
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export const html = htm.bind(h);

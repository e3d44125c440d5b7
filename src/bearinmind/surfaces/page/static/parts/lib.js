// The libraries of the page in one place: components, hooks, signals and templates.

import { Fragment, h, render } from "../vendor/preact.js";
import { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-hooks.js";
import { computed, effect, signal } from "../vendor/signals.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export {
  Fragment, computed, effect, render, signal,
  useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState,
};

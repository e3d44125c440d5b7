// A field in which something is picked by searching for it: no ids to type.

import * as api from "../api.js";
import { html, useEffect, useId, useState } from "./lib.js";
import { Foreign } from "./text.js";
import { age, many, short } from "./words.js";

const PAUSE = 200; // milliseconds without a key after which the server is asked

/** `search(words, signal)` gives options {key, text, note, value}; `onPick` gets the value. */
const Picker = ({ label, search, onPick, placeholder = "", focus = false }) => {
  const [words, setWords] = useState("");
  const [options, setOptions] = useState([]);
  const [chosen, setChosen] = useState(0);
  const [found, setFound] = useState({ words: "", isEmpty: false }); // the words that were searched for last
  const id = useId();
  useEffect(() => {
    if (!words.trim()) {
      setOptions([]);
      return undefined;
    }
    const running = new AbortController();
    const timer = setTimeout(() => {
      search(words.trim(), running.signal).then((answer) => {
        setOptions(answer);
        setChosen(0);
        setFound({ words, isEmpty: !answer.length });
      }, (problem) => problem.name === "AbortError" || setFound({ words, isEmpty: false }));
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      running.abort();
    };
  }, [words]);
  const pick = (option) => {
    setWords("");
    setOptions([]);
    onPick(option.value);
  };
  const press = (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Escape" && options.length) setOptions([]);
    else if (!options.length) return;
    else if (event.key in steps) setChosen((chosen + steps[event.key] + options.length) % options.length);
    else if (event.key === "Enter") pick(options[chosen]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isOpen = options.length > 0;
  return html`
    <div class="picker field">
      <label for=${id}>${label}</label>
      <input id=${id} type="text" role="combobox" autocomplete="off" spellcheck=${false} value=${words}
        placeholder=${placeholder} autofocus=${focus} aria-expanded=${isOpen} aria-controls=${`${id}-options`}
        aria-autocomplete="list" aria-busy=${words.trim() && words !== found.words ? "true" : null} aria-activedescendant=${isOpen ? `${id}-${chosen}` : null}
        onInput=${({ target }) => setWords(target.value)} onKeyDown=${press}
        onBlur=${() => setTimeout(() => setOptions([]), 200)} />
      ${isOpen && html`
        <ul class="options" id=${`${id}-options`} role="listbox" aria-label=${label}>${options.map((option, place) => html`
          <li key=${option.key} id=${`${id}-${place}`} role="option" aria-selected=${place === chosen}
            onMouseDown=${(event) => { event.preventDefault(); pick(option); }}>
            <${Foreign} text=${option.text} /><small>${option.note}</small></li>`)}</ul>`}
      ${words.trim() && words === found.words && found.isEmpty && html`<p class="faint" role="status">Nothing is found with these words.</p>`}
    </div>`;
};

export const MemoryPicker = ({ except = null, ...others }) => {
  const search = async (words, signal) => (await api.find(words, signal)).hits
    .map(({ memory }) => memory)
    .filter(({ id }) => id !== except)
    .map((memory) => ({
      key: memory.id, text: short(memory.content, 140), value: memory,
      note: `${memory.category} · ${age(memory.created_at)}`,
    }));
  return html`<${Picker} search=${search} placeholder="Words that it has" ...${others} />`;
};

export const ConceptPicker = ({ except = null, ...others }) => {
  const search = async (words, signal) => (await api.hubs({ containing: words, limit: 8 }, signal)).concepts
    .filter(({ name }) => name !== except)
    .map((concept) => ({
      key: concept.name, text: concept.label, value: concept,
      note: `${concept.kind} · in ${many(concept.memories, "memory", "memories")}`,
    }));
  return html`<${Picker} search=${search} placeholder="Part of its name" ...${others} />`;
};

// What this device keeps of a survey: the reports that its coins made, never the answers. It is made once.

const key = name => `tacit-survey:${name}`;

// The memo of a survey, or null. A browser that keeps nothing makes this throw, and nothing may be sent then.
export function kept(name) {
  const found = localStorage.getItem(key(name));
  return found === null ? null : JSON.parse(found);
}

// Keep a memo unless there is one; the one that is kept.
export function keep(name, memo) {
  const before = kept(name);
  if (before) return before;
  localStorage.setItem(key(name), JSON.stringify(memo));
  return kept(name);
}

// Note how far it came: "agreed" when its owner wants it sent, "sent" when the service has it.
export const note = (name, state) => change(name, {state});

// The memo with some of its parts changed; what is undefined is forgotten.
export function change(name, parts) {
  localStorage.setItem(key(name), JSON.stringify({...kept(name), ...parts}));
  return kept(name);
}

// What is sent: this text and nothing else. `invitation` is there only if one is needed.
export const body = ({id, version, reports, invitation}) => JSON.stringify({id, version, reports, invitation});

export const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
export const bytes = text => Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));

// The dialog that is open, if any: {component, props}. The page behind it is inert meanwhile.
import { Store } from "./store.js";

export const dialog = new Store(null);
let before = null;  // what had the focus

export function openDialog(component, props = {}) {
  if (!dialog.value) before = document.activeElement;
  dialog.set({ component, props });
}

export function closeDialog() {
  if (!dialog.value) return;
  dialog.set(null);
  // The page stops being inert when the frame is drawn again.
  setTimeout(() => before?.isConnected && before.focus(), 0);
}

/** Ends the demo on purpose: a sentence for the user, without a stack. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

/** What ends the demo on purpose: a sentence for the person in front of it, without a stack. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

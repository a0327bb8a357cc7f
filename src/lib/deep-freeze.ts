/** Makes plain data unchangeable. */

/** Freezes the lists and plain objects in it and returns it. Objects of classes, such as dates and buffers, stay as they are. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) {
    // What is frozen was frozen whole: this ends circles, too.
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFreeze(inner);
  }
  return value;
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

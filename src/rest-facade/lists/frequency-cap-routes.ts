/** The frequency cap of the caller's customer, over all its lists; each list has one of its own beside. */
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import { frequencyCapIn, presentFrequencyCap } from '../frequency-cap.ts';
import { answersBody } from '../shapes.ts';
import { capActionShape, oneCapShape } from './shapes.ts';

export const frequencyCapRows = [
  endpoint({
    method: 'GET',
    path: '/frequency_cap',
    access: 'token',
    summary: 'Shows how many messages a person gets at most from all lists together.',
    answers: answersBody(oneCapShape),
    operation: 'FrequencyCap',
    variables: () => ({}),
    present: ({ frequencyCap: { frequencyCap: cap } }) => ok({ frequency_cap: cap && presentFrequencyCap(cap) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/frequency_cap',
    access: 'token',
    summary: 'Changes how many messages a person gets at most from all lists together.',
    details: 'An empty `frequency_cap` is no limit.',
    answers: answersBody(capActionShape),
    operation: 'SetFrequencyCap',
    variables: (input) => ({ input: { frequencyCap: frequencyCapIn(input) } }),
    present: ({ setFrequencyCap: { frequencyCap: cap } }) =>
      done('The frequency cap was changed', { frequency_cap: cap && presentFrequencyCap(cap) }),
  }),
];

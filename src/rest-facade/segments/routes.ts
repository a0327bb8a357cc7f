/**
 * Segments: saved rules over a list's people. An extension of the contract. A rule is the JSON that GraphQL takes, as an
 * object or, when it is nested deeper than parameters may be, as a text.
 */
import { z } from 'zod';
import type { SegmentRuleInput } from '../../generated/operations.ts';
import { created, done, ok, page } from '../answer.ts';
import { pageArguments } from '../dialects.ts';
import { deepObject } from '../deep-object.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { answersBody, answersCreated, answersPage } from '../shapes.ts';
import { subscriberRowShape } from '../subscribers/shapes.ts';
import { presentSubscriberRow } from '../subscribers/present.ts';
import { restTime } from '../timestamps.ts';
import { presentCondition, presentSegment } from './present.ts';
import {
  conditionShape,
  oneSegmentShape,
  segmentActionShape,
  segmentDeletedShape,
  segmentShape,
  segmentSizeShape,
} from './shapes.ts';

export const segmentRows = [
  endpoint({
    method: 'GET',
    path: '/lists/:list_uid/segments',
    access: 'token',
    summary: 'Lists the segments of a list.',
    answers: answersPage(segmentShape),
    operation: 'Segments',
    variables: (input) => ({ listUid: input.param('list_uid'), ...pageArguments(input) }),
    present: ({ segmentsPage }) => page(segmentsPage, presentSegment),
  }),
  endpoint({
    method: 'POST',
    path: '/lists/:list_uid/segments',
    access: 'token',
    summary: 'Saves a rule that picks some of a list’s people.',
    answers: answersCreated(segmentActionShape),
    required: ['name', 'rule'],
    operation: 'CreateSegment',
    fieldName,
    variables: (input) => ({
      input: { listUid: input.param('list_uid'), name: input.text('name') ?? '', rule: rule(input) ?? missing(input) },
    }),
    present: ({ createSegment: segment }) =>
      created('Segment was successfully created', { segment_uid: segment.uid, segment: presentSegment(segment) }),
  }),
  endpoint({
    method: 'GET',
    path: '/segment_conditions',
    access: 'token',
    summary: 'Lists the conditions that active plugins offer for rules of segments.',
    details:
      'One is used as `{"pluginCondition": {"plugin", "name", "values"}}` in a rule; `values` has a value for each parameter by its name. Labels are in the `language`, else in the customer’s.',
    answers: answersBody(z.array(conditionShape)),
    operation: 'SegmentConditions',
    variables: (input) => ({ language: input.text('language') }),
    present: ({ segmentConditions }) => ok(segmentConditions.nodes.map(presentCondition)),
  }),
  endpoint({
    method: 'GET',
    path: '/segments/:uid',
    access: 'token',
    summary: 'Shows one segment.',
    answers: answersBody(oneSegmentShape),
    operation: 'Segment',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ segment }) => ok({ segment: presentSegment(segment) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/segments/:uid',
    access: 'token',
    summary: 'Changes a segment; campaigns that were started keep the rule they were started with.',
    answers: answersBody(segmentActionShape),
    operation: 'UpdateSegment',
    fieldName,
    variables: (input) => ({ input: { uid: input.param('uid'), name: input.text('name'), rule: rule(input) } }),
    present: ({ updateSegment: segment }) =>
      done('Segment was successfully updated', { segment_uid: segment.uid, segment: presentSegment(segment) }),
  }),
  endpoint({
    method: 'DELETE',
    path: '/segments/:uid',
    access: 'token',
    summary: 'Deletes a segment that no unfinished campaign and no published flow uses.',
    answers: answersBody(segmentDeletedShape),
    operation: 'DeleteSegment',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deleteSegment: { uid } }) => done('Deleted', { segment_uid: uid }),
  }),
  endpoint({
    method: 'GET',
    path: '/segments/:uid/count',
    access: 'token',
    summary: 'Counts the people that a segment picks now.',
    answers: answersBody(segmentSizeShape),
    operation: 'SegmentSize',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ segmentSize: { count, asOf } }, _view, input) =>
      ok({ segment_uid: input.param('uid'), count, counted_at: restTime(asOf) }),
  }),
  endpoint({
    method: 'GET',
    path: '/segments/:uid/subscribers',
    access: 'token',
    summary: 'Lists the people that a segment picks.',
    answers: answersPage(subscriberRowShape),
    operation: 'SegmentSubscribers',
    variables: (input) => ({ uid: input.param('uid'), ...pageArguments(input) }),
    present: ({ segmentSubscribersPage }) => page(segmentSubscribersPage, presentSubscriberRow),
  }),
];

/** Within a rule, the rule's own names are used. */
function fieldName(path: string): string | undefined {
  return path === 'rule' || path.startsWith('rule.') ? path : undefined;
}

function missing(input: Input): SegmentRuleInput {
  input.refuse('rule', 'The rule field is required.');
  // Never sent: the refusal ends the call.
  return { all: [] };
}

/** Levels of objects and lists: a rule of ten levels has 24. */
const RULE_JSON_DEPTH_MAX = 32;

function rule(input: Input): SegmentRuleInput | undefined {
  return deepObject(input, 'rule', RULE_JSON_DEPTH_MAX);
}

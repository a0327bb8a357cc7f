/** What opens and clicks share. */
import type { DisabledCustomers } from '../domain/accounts/disabled-customers.ts';
import type { GeoLocator } from '../domain/tracking/geo-locator.ts';
import type { TrackingEventRecorder } from '../domain/tracking/tracking-event-recorder.ts';
import type { AnswerDeadline } from './answer-deadline.ts';

export interface TrackingMeans {
  readonly recorder: TrackingEventRecorder;
  readonly deadline: AnswerDeadline;
  readonly places: GeoLocator;
  readonly disabled: DisabledCustomers;
}

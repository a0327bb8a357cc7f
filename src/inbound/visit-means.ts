/** What the two addresses share that visits come by. */
import type { DisabledCustomers } from '../domain/accounts/disabled-customers.ts';
import type { GeoLocator } from '../domain/tracking/geo-locator.ts';
import type { VisitRecorder } from '../domain/tracking/visit-recorder.ts';
import type { Patience } from './patience.ts';

export interface VisitMeans {
  readonly recorder: VisitRecorder;
  readonly patience: Patience;
  readonly places: GeoLocator;
  readonly disabled: DisabledCustomers;
}

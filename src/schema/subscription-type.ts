/** The root of subscriptions; imported by the files that add fields to it. */
import { builder } from './builder.ts';

builder.subscriptionType({
  description:
    'Notifies of changes. Every event has the full current value, or says that something may be missing (`isGap`), so a missed event loses nothing.',
});

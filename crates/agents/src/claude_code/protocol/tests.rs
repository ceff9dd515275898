mod golden;
mod rules;
mod shuffled;

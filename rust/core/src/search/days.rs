//! Days of the Gregorian calendar, counted from 1970.

/// Milliseconds of a day.
pub const DAY: i64 = 86_400_000;

/// The number of a day, 0 for the first of 1970.
#[must_use]
pub fn day_number(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March on, so that the leap day is the last of its year.
    let year = year - i64::from(month <= 2);
    let months = (month + 9) % 12;
    let in_year = (153 * months + 2) / 5 + day - 1;
    let era = year.div_euclid(400);
    let in_era = year.rem_euclid(400);
    era * 146_097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719_468
}

/// The year in which a day lies.
#[must_use]
pub fn year_of(day: i64) -> i64 {
    let mut year = 1970 + day.div_euclid(366);
    while day_number(year + 1, 1, 1) <= day {
        year += 1;
    }
    while day_number(year, 1, 1) > day {
        year -= 1;
    }
    year
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_has_them() {
        for (year, month, day, number) in
            [(1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 3, 1, 11_017), (2024, 2, 29, 19_782)]
        {
            assert_eq!(day_number(year, month, day), number);
            assert_eq!(year_of(number), year);
        }
        assert_eq!((day_number(1, 1, 1), year_of(-719_162), year_of(-719_163)), (-719_162, 1, 0));
        assert!((-800_000..800_000).step_by(97).all(|day| {
            let year = year_of(day);
            day_number(year, 1, 1) <= day && day < day_number(year + 1, 1, 1)
        }));
    }
}

use super::*;

fn id(number: u8) -> Id {
    [number; 16]
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn three() -> Vectors {
    let mut vectors = Vectors::new("test".into(), 2).unwrap();
    vectors.set(&[id(1), id(2), id(3)], &bytes(&[1.0, 0.0, 0.0, 2.0, 3.0, 3.0])).unwrap();
    vectors
}

fn best(vectors: &Vectors, query: &[f32]) -> Vec<u8> {
    vectors.scores(&bytes(query), None).unwrap().best(9, None).into_iter().map(|(id, _)| id[0]).collect()
}

#[test]
fn what_points_the_same_way_comes_first() {
    assert_eq!(best(&three(), &[5.0, 0.1]), [1, 3, 2]);
    assert_eq!(best(&three(), &[0.0, 0.0]), [1, 2, 3]);
}

#[test]
fn a_removed_vector_is_gone_and_the_others_stay_what_they_were() {
    let mut vectors = three();
    vectors.remove(&[id(1), id(9)]);
    assert_eq!(best(&vectors, &[5.0, 0.1]), [3, 2]);
    vectors.remove(&[id(3), id(2)]);
    assert!(vectors.is_empty() && best(&vectors, &[1.0, 1.0]).is_empty());
}

#[test]
fn neighbours_lend_what_lies_above_the_mean() {
    let mut vectors = three();
    for number in 1..=3 {
        vectors.place(&id(number), Some(("s", i64::from(number), 0)));
    }
    let around = Around { previous: 0.5, next: 0.25, two_away: 0.125 };
    let own = vectors.scores(&bytes(&[1.0, 0.0]), None).unwrap().of(&[id(1), id(2), id(3)]);
    let lent = vectors.scores(&bytes(&[1.0, 0.0]), Some(around)).unwrap().of(&[id(1), id(2), id(3)]);
    let own: Vec<f64> = own.into_iter().flatten().collect();
    let mean = own.iter().sum::<f64>() / 3.0;
    let first = own[0] + 0.25 * (own[1] - mean) + 0.125 * (own[2] - mean);
    assert!((lent[0].unwrap() - first).abs() < 1e-9);
    vectors.remove(&[id(1)]);
    let after = vectors.scores(&bytes(&[1.0, 0.0]), Some(around)).unwrap().of(&[id(1), id(2)]);
    assert!(after[0].is_none());
    assert!((after[1].unwrap() - 0.25 * (own[2] - own[2] / 2.0)).abs() < 1e-9);
}

#[test]
fn what_is_no_vector_is_refused_whole() {
    let mut vectors = three();
    assert_eq!(vectors.set(&[id(4)], &[0; 7]), Err(Fault::Length { bytes: 7, count: 1, dimension: 2 }));
    assert_eq!(vectors.set(&[id(4), id(5)], &bytes(&[1.0, 1.0, f32::NAN, 0.0])), Err(Fault::NotFinite(1)));
    assert_eq!(vectors.len(), 3);
    assert!(Vectors::new(String::new(), 0).is_err());
}

#[test]
fn bytes_give_back_what_was_written_and_nothing_when_one_of_them_is_wrong() {
    let mut vectors = three();
    vectors.place(&id(2), Some(("s", -1, 7)));
    let written = vectors.to_bytes("cursor", b"note");
    let (read, cursor, note) = Vectors::from_bytes(&written).unwrap();
    assert_eq!((cursor.as_str(), note.as_slice()), ("cursor", b"note".as_slice()));
    assert_eq!(read.to_bytes("cursor", b"note"), written);
    for at in 0..written.len() {
        let mut torn = written.clone();
        torn[at] ^= 1;
        assert!(Vectors::from_bytes(&torn).is_none(), "byte {at}");
        assert!(Vectors::from_bytes(&written[..at]).is_none(), "{at} bytes");
    }
}

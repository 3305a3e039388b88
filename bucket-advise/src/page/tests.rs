use super::write;
use crate::code::Code;
use crate::measure::capacity::curve;
use crate::measure::growth::{Growth, LargeDocument};
use crate::measure::heat::Heat;
use crate::measure::keys::ItemsPerKey;
use crate::measure::lengths::Lengths;
use crate::picture::{
    CapacitiesPicture, GrowthPicture, HeatPicture, KeysPicture, LengthsPicture, Picture,
};
use crate::report::Findings;

const HOSTILE: &str = "</script><script>alert(1)</script>\"' onload='x";

fn keys(groups: &[(u64, u64)]) -> Vec<Picture> {
    let keys = ItemsPerKey::of(groups.iter().copied());
    let capacities = CapacitiesPicture {
        simulated: curve(&keys, 40, 100),
        keys: keys.keys(),
        items: keys.items(),
        recommended: 100,
    };
    let picture = KeysPicture {
        keys,
        is_exact: false,
        capacity: Some(100),
        names: vec![HOSTILE.to_owned()],
    };
    vec![Picture::Keys(picture), Picture::Capacities(capacities)]
}

fn page(pictures: Vec<Picture>) -> String {
    let code = || Code {
        rust: vec![HOSTILE.to_owned()],
        commands: vec![HOSTILE.to_owned()],
    };
    write(&Findings {
        namespace: HOSTILE.to_owned(),
        verdict: format!("leave `{HOSTILE}`: because `{HOSTILE}`"),
        weighed: vec![HOSTILE.to_owned()],
        corrections: vec![HOSTILE.to_owned()],
        figures: vec![HOSTILE.to_owned()],
        code: code(),
        page_code: code(),
        pictures,
        ..Findings::default()
    })
}

#[test]
fn no_text_of_the_data_is_markup() {
    let page = page(keys(&[(1, 9), (1000, 1)]));
    assert!(!page.contains(HOSTILE) && !page.contains("alert(1)</script>"));
    let tags = ["<script", "</script", "<style", "<meta"].map(|tag| page.matches(tag).count());
    assert_eq!(tags, [1, 1, 1, 4]);
    // The first and the last of its quotes are those of attributes.
    assert!(!page.contains("onload='"));
}

#[test]
fn nothing_is_loaded() {
    let page = page(keys(&[(7, 3)]));
    for link in ["http:", "https:", "src=", "url(", "@import", "<link"] {
        assert!(!page.contains(link), "{link}");
    }
}

#[test]
fn every_number_is_finite_whatever_there_is_to_draw() {
    let growth = Growth {
        bytes: 1 << 24,
        begin: 0,
        now: 86_400_000,
    };
    let mut few = keys(&[(1, 1)]);
    few.push(Picture::Growth(GrowthPicture {
        large: 1,
        documents: vec![LargeDocument {
            items: 1,
            bytes: growth.bytes,
            growth: Some(growth),
            id: None,
        }],
        since: None,
    }));
    few.push(Picture::Fill(Default::default()));
    few.push(Picture::Lengths(LengthsPicture {
        lengths: Lengths::of([]),
        threshold: Some(50),
        is_recommended: true,
        remark: "",
    }));
    let heat = |keys| {
        Picture::Heat(HeatPicture {
            heat: Heat {
                begin: i64::MAX - 1,
                width: 1000,
                keys,
            },
            is_exact: false,
            remark: "",
        })
    };
    few.extend([vec![], vec![vec![0]], vec![vec![1, u64::MAX]; 10]].map(heat));
    for pictures in [
        keys(&[]),
        few,
        keys(&[(u64::from(u32::MAX), 1), (3, 1 << 40)]),
    ] {
        let page = page(pictures);
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }
}

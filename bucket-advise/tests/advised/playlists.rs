use bucket_runtime::bson::Bson;
use bucket_runtime::Outlier;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Outlier)]
#[outlier(collection = "playlists", reference = "playlist_id", threshold = 50)]
pub struct Playlist {
    #[serde(rename = "_id")]
    pub id: String,
    #[serde(default)]
    #[outlier(flag)]
    pub has_extras: bool,
    // no other texts were seen; with others in store, take `String` for `Genre`
    pub genre: Genre,
    // int in 66 %, string in 34 %: `Bson` reads all of them
    #[outlier(items)]
    pub tracks: Vec<Bson>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Genre {
    #[serde(rename = "JAZZ")]
    Jazz,
    #[serde(rename = "rock")]
    Rock,
}

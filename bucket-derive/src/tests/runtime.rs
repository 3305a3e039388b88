use crate::parse::runtime::renamed;

#[test]
fn the_name_of_the_package_is_no_other_name() {
    for manifest in [
        "",
        "[dependencies]\nserde = \"1\"\n",
        "[dependencies]\nbucket-runtime = \"0.1\"\n",
        "[dependencies]\nbucket-runtime.workspace = true\n",
        "[dependencies.bucket-runtime]\nversion = \"0.1\"\n",
        "[package]\nname = \"bucket-runtime\"\n",
        "[dependencies]\nbucket_runtime = { package = \"bucket-runtime\", version = \"0.1\" }\n",
        // With both names, the package's own is used.
        "[dependencies]\nold = { package = \"bucket-runtime\", version = \"0.1\" }\nbucket-runtime = \"0.2\"\n",
    ] {
        assert_eq!(renamed(manifest), None, "{manifest}");
    }
}

#[test]
fn another_name_is_found() {
    for manifest in [
        "[dependencies]\nmy-store = { package = \"bucket-runtime\", version = \"0.1\" }\n",
        "[dev-dependencies]\n\"my-store\"={version=\"0.1\",package=\"bucket-runtime\"}\n",
        "[dependencies.my-store]\nversion = \"0.1\"\npackage = \"bucket-runtime\"\n",
        "[target.'cfg(unix)'.dependencies]\nmy_store = { package = \"bucket-runtime\" }\n",
    ] {
        assert_eq!(renamed(manifest).as_deref(), Some("my_store"), "{manifest}");
    }
}

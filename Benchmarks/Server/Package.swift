// swift-tools-version: 6.1
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// A package of its own, so that the other measurements need no libpq.
let package = Package(
  name: "ServerBenchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cdgen", path: "../..")],
  targets: [
    .systemLibrary(
      name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    // The same work in C with libpq, which all ratios are to.
    .target(name: "ServerBaseline", dependencies: ["CLibPQ"]),
    .executableTarget(
      name: "server-bench",
      dependencies: [
        "ServerBaseline",
        .product(name: "CDRuntime", package: "cdgen"),
        .product(name: "CDPostgresStore", package: "cdgen"),
      ], swiftSettings: settings, plugins: [.plugin(name: "CDGenPlugin", package: "cdgen")]),
  ],
  swiftLanguageModes: [.v6]
)

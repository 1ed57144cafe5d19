// swift-tools-version: 6.1
import PackageDescription

// A package as any other that uses cdgen; only the path would be a URL elsewhere.
let package = Package(
  name: "LibraryExample",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "cdgen", path: "../..")],
  targets: [
    .executableTarget(
      name: "library",
      dependencies: [.product(name: "CDRuntime", package: "cdgen")],
      plugins: [.plugin(name: "CDGenPlugin", package: "cdgen")])
  ]
)

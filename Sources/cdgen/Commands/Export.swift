import ArgumentParser
import CDConsole
import CDModel
import CDSchema
import CDXcode

/// `cdgen export`
struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Convert a model to a model of Xcode.",
    discussion: """
      Creates a folder NAME.xcdatamodeld with a folder for each version. If the model was imported from Xcode, the \
      result is the original model, except for the positions in Xcode's editor. No existing file is overwritten.

        cdgen export Schemas/Library.cdmodel --output App/Library.xcdatamodeld
      """)

  @Argument(help: "The folder of the model.", completion: .directory)
  var model: String

  @Option(name: .shortAndLong, help: "The folder to create: NAME.xcdatamodeld.", completion: .directory)
  var output: String

  func validate() throws {
    if !ModelFolder.trimmed(output).hasSuffix(".xcdatamodeld") {
      throw ValidationError("--output is a folder NAME.xcdatamodeld.")
    }
  }

  func run() throws {
    try reportingFailures {
      let loaded = ModelLoader.load(folder: model)
      guard let model = loaded.unprovenModel else {
        ModelFolder.report(loaded.diagnostics)
        throw ExitCode.failure
      }
      let exporter = XcodeExporter(model)
      let folder = ModelFolder.trimmed(output)
      for loss in exporter.losses { Console.error("\(folder): warning: \(loss)") }
      try FileSystem.makeFolder(FileSystem.folder(of: folder))
      try FileSystem.makeNewFolder(folder) {
        for (name, text) in exporter.files.sorted(by: { $0.key < $1.key }) {
          let path = FileSystem.join(folder, name)
          try FileSystem.makeFolder(FileSystem.folder(of: path))
          try OutputFile(path: path, contents: text).create()
        }
      }
      try Console.write(line: folder)
    }
  }
}

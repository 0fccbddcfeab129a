//! Every error message: the problem with its numbers, and the remedy. A changed message changes the snapshot.

use dualfit::Error;
use dualfit::error::{
    CheckpointError, GlobalError, ModelError, NameError, Named, NamedValues, NoCuda,
    NonFiniteRemedies, PartsError, SavedError, SettingError, SourceChange, SourceError, StartError,
    TieError, UncertaintyError, WorkerError,
};

fn own(text: &str) -> String {
    text.to_owned()
}

fn names() -> Vec<String> {
    vec![own("a"), own("b")]
}

fn values() -> NamedValues {
    NamedValues(vec![Named { name: own("a"), value: 1.5 }, Named { name: own("b"), value: -2e-12 }])
}

fn of_data() -> Vec<Error> {
    let (what, name) = (own("y"), own("a"));
    let of_all = NonFiniteRemedies { mask: true, infinite_x: false };
    vec![
        Error::EmptyData { given: 0, omitted: 0 },
        Error::EmptyData { given: 5, omitted: 5 },
        Error::LengthMismatch { what: what.clone(), expected: 3, got: 4, remedy: "give as many" },
        Error::ColumnCount { expected: 1, got: 2 },
        Error::NonFinite { what, index: 7, value: f64::NAN, count: 2, remedies: of_all },
        Error::NonFinite {
            what: own("x"),
            index: 7,
            value: f64::INFINITY,
            count: 1,
            remedies: NonFiniteRemedies { mask: false, infinite_x: true },
        },
        Error::NonFiniteParameter { what: "start", name, value: f64::INFINITY },
        Error::SigmaNotPositive { index: 3, value: -0.5 },
        Error::BadXSigma { what: own("x_sigma"), index: 3, value: -0.5 },
        Error::NoEffectiveData { points: 9 },
        Error::CovarianceNotPositiveDefinite { row: 4, reason: "a negative pivot" },
        Error::TooFewPoints { points: 2, parameters: 3 },
        Error::BatchLayout { message: own("10 points in 3 fits") },
        Error::NegativeCount { index: 2, value: -1.0 },
        Error::NotForCounts { what: "sigma" },
    ]
}

fn of_parameters() -> Vec<Error> {
    let name = || own("a");
    vec![
        Error::ParameterCount { expected: 2, got: 3, names: names() },
        Error::UnknownParameter { name: own("e"), known: names(), remedy: own("correct it") },
        Error::BoundsOrder { name: name(), lower: 2.0, upper: 1.0 },
        Error::StartOutOfBounds { name: name(), value: 3e12, lower: 0.0, upper: 1.0 },
        Error::NoParameters,
        Error::NoParameterDependence { names: names() },
        Error::BadOption { name: "level", value: 1.5, requirement: "a probability" },
        SettingError {
            what: "scale",
            name: name(),
            value: -1.0,
            requirement: "positive and finite",
        }
        .into(),
        Error::RangeOfStarts { name: name(), lower: 0.0, upper: f64::INFINITY, fault: own("open") },
        Error::SobolDimensions { parameters: 300, most: 256 },
        NameError::Unshowable { name: own("a\u{202e}") }.into(),
        NameError::NotAWord { name: own("my a") }.into(),
        NameError::Taken {
            name: name(),
            first: own("gaussian"),
            second: own("linear"),
            remedy: own("rename one"),
        }
        .into(),
        StartError::GivenTwice { name: name() }.into(),
        StartError::Unknown { names: names() }.into(),
        StartError::FixedWithoutValue { name: name() }.into(),
        TieError::Cycle { names: names() }.into(),
        TieError::Besides {
            name: name(),
            formula: own("2*b"),
            besides: own("fixed"),
            remedy: "free it",
        }
        .into(),
        TieError::DiffersBetweenSets { name: name() }.into(),
        GlobalError::InSet { set: 2, error: Box::new(Error::NoParameters) }.into(),
        GlobalError::BadSets { bad: vec![2, 7], sets: 9, error: Box::new(Error::NoParameters) }
            .into(),
        GlobalError::BadSets {
            bad: (1..=12).collect(),
            sets: 12,
            error: Box::new(Error::NoParameters),
        }
        .into(),
        GlobalError::NoSets.into(),
        GlobalError::Outweighs { index: 3, value: -1e200 }.into(),
        GlobalError::Differs { set: 2, what: "its loss", remedy: "set one" }.into(),
        WorkerError { worker: 2, message: own("it has another model") }.into(),
        PartsError::AnotherModel {
            first: 1 << 20,
            field: own("model"),
            leader: own("f = v2"),
            part: own("v3 = 2.0 * v2"),
        }
        .into(),
        PartsError::Leader { message: own("the model has no parameters to fit") }.into(),
    ]
}

fn of_models() -> Vec<Error> {
    let (index, point, params) = (3, values, values);
    vec![
        Error::ModelPanicked { message: own("no"), place: own("point 3") },
        Error::ObserverPanicked { message: own("no") },
        Error::SourcePanicked { message: own("no") },
        Error::ModelNonFiniteAtStart { index, point: point(), value: f64::NAN, params: params() },
        Error::PartialNonFiniteAtStart {
            name: own("a"),
            index,
            point: point(),
            value: f64::INFINITY,
            params: params(),
        },
        Error::ModelNotPositiveAtStart { index, point: point(), value: -1.0, params: params() },
        Error::OverflowAtStart { params: params() },
        Error::Parse { message: own("a bracket is open"), column: 3, text: own("a*(x") },
        Error::ModelKind { what: "jacobian", remedy: "leave it out" },
        Error::NotTraced,
        Error::ForeignVariable,
        ModelError::BadName { name: own("pi"), model: own("linear") }.into(),
        ModelError::Unknown { name: own("gausian"), nearest: Some("gaussian") }.into(),
        ModelError::NotNestable { outer: own("gaussian2d"), variables: 2 }.into(),
        ModelError::KnotCount { got: 3, least: 4, most: 100 }.into(),
        ModelError::BadKnot { index: 2, value: 1.0 }.into(),
        ModelError::TooLarge { what: own("300 models inside each other"), most: 200 }.into(),
    ]
}

fn of_fits() -> Vec<Error> {
    let (name, reason, remedy) = (own("a"), "it is fixed", "free it");
    let path = || "out/file".into();
    let message = || own("no space left");
    vec![
        UncertaintyError::NewPointUnknown { reason, remedy }.into(),
        UncertaintyError::NewPointSigma { index: 1, value: 0.0 }.into(),
        UncertaintyError::NoProfile { name: name.clone(), reason, remedy }.into(),
        UncertaintyError::BeyondProfile { level: 0.99, covered: 0.95 }.into(),
        UncertaintyError::BetterMinimum { name, cost: 1e-12 }.into(),
        UncertaintyError::NoBootstrap { reason, remedy }.into(),
        UncertaintyError::TooFewReplicates { level: 0.95, replicates: 199, needed: 200 }.into(),
        UncertaintyError::ReplicatesFailed { failed: 30, made: 200 }.into(),
        UncertaintyError::NoBca { reason, remedy }.into(),
        UncertaintyError::UndefinedQuantity { quantity: own("1/k"), count: 2, replicates: 9 }
            .into(),
        UncertaintyError::OtherFit { what: "points", found: own("3"), expected: own("4") }.into(),
        UncertaintyError::NotComparable {
            what: "loss",
            first: own("linear"),
            second: own("Huber"),
            remedy: "fit both with one",
        }
        .into(),
        UncertaintyError::NoFits.into(),
        CheckpointError::NotWritten { path: path(), message: message() }.into(),
        SavedError::NoModel.into(),
        SourceError::new("data.csv", "\"abc\" is not a number").at_row(18).in_column("y").into(),
        SourceChange::Points { expected: 10, got: 9 }.into(),
        Error::MemoryLimit { limit: 1000, needed: 2000 },
        Error::StoppedInFirstPass,
    ]
}

fn of_devices() -> Vec<Error> {
    let (name, message) = (|| own("NVIDIA H100"), || own("code 700"));
    let mut errors = vec![
        Error::NotOnDevice { what: "a native model", remedy: "use Backend::Cpu" },
        Error::DeviceOutOfMemory { name: name(), requested: 1 << 30, free: 1 << 20 },
        Error::DeviceLost { name: name(), message: message() },
        Error::DeviceFailed { name: name(), message: message() },
        Error::KernelNotCompiled { message: own("line 3"), source_text: own("__global__") },
    ];
    let reasons = [
        NoCuda::DriverLibraryNotFound { searched: vec![own("libcuda.so.1")], in_container: false },
        NoCuda::DriverLibraryNotFound { searched: vec![own("libcuda.so.1")], in_container: true },
        NoCuda::SymbolMissing { symbol: own("cuInit"), library: own("libcuda.so.1") },
        NoCuda::DriverTooOld { driver: (10, 2), needs: (11, 2) },
        NoCuda::DeviceTooOld { name: own("Tesla P4"), capability: (6, 1), needs: (7, 0) },
        NoCuda::InitFailed { code: 803, text: own("cuInit") },
        NoCuda::NoDevice { visible: None, in_container: false },
        NoCuda::NoDevice { visible: Some(own("7")), in_container: false },
        NoCuda::OrdinalOutOfRange { ordinal: 3, count: 1, visible: Some(own("0")) },
        NoCuda::DeviceVariable { value: own("x") },
        NoCuda::NvrtcNotFound { searched: vec![own("libnvrtc.so.12")], driver: (12, 4) },
        NoCuda::NvrtcTooNew { nvrtc: (13, 0), driver: (12, 4) },
        NoCuda::CompilerFailed { reason: own("code 5") },
        NoCuda::ForcedCpu,
        NoCuda::NotCompiled,
    ];
    for (i, reason) in reasons.into_iter().enumerate() {
        errors.push(Error::CudaUnavailable { ordinal: (i == 0).then_some(1), reason });
    }
    errors
}

#[test]
fn messages_say_what_is_wrong_and_what_to_do() {
    let lists = [of_data(), of_parameters(), of_models(), of_fits(), of_devices()];
    let messages: Vec<String> = lists.iter().flatten().map(ToString::to_string).collect();
    insta::assert_snapshot!(messages.join("\n"));
}
